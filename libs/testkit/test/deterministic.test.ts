import { expect, test } from 'vitest';
import { manualClock, newCounterIds } from '../src/index.ts';

test('a manual clock stands still until it is moved, and hands out no reference to its inside', () => {
  const clock = manualClock('2030-05-01T00:00:00Z');
  clock.now().setFullYear(1999);
  expect(clock.now().toISOString()).toBe('2030-05-01T00:00:00.000Z');
  clock.advance(1_500);
  expect(clock.now().toISOString()).toBe('2030-05-01T00:00:01.500Z');
  clock.set(new Date(0));
  expect(clock.now().getTime()).toBe(0);
  expect(() => clock.set('yesterday')).toThrow('"yesterday" is no instant');
});

test('counter ids are the same in every run and counted for each prefix', () => {
  const newId = newCounterIds();
  expect([newId('run'), newId('chunk'), newId('run'), newId()]).toEqual(['run_1', 'chunk_1', 'run_2', 'id_1']);
  expect(newCounterIds()('run')).toBe('run_1');
});
