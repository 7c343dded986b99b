import { expect, test } from 'vitest';
import type { TestModule } from 'vitest/node';
import { closingLine } from '../src/closing-line-reporter.ts';

type State = 'passed' | 'failed' | 'skipped' | 'pending';

function moduleWith(...states: State[]): Pick<TestModule, 'children'> {
  const tests = states.map((state) => ({ result: () => ({ state }) }));
  return { children: { allTests: () => tests } } as unknown as Pick<TestModule, 'children'>;
}

test('the closing line counts test cases over all files', () => {
  expect(closingLine([moduleWith('passed', 'passed'), moduleWith('failed')])).toBe('2 passed, 1 failed');
});

test('skipped cases are named only when there are any', () => {
  expect(closingLine([moduleWith('passed', 'skipped')])).toBe('1 passed, 0 failed, 1 skipped');
});

test('a case that never came to its end did not pass', () => {
  expect(closingLine([moduleWith('passed', 'pending')])).toBe('1 passed, 1 failed');
});
