import { createRequire } from 'node:module';
import * as own from 'footprintjs';
import { ScopeFacade } from 'footprintjs/advanced';
import { expect, test } from 'vitest';
import { type RunbookAsToolOptions, type RunbookEnvelope, runbookAsTool } from '../src/index.ts';

// The CommonJS build: what a runbook in a package of its own brings along behaves the same.
const foreign = createRequire(import.meta.url)('footprintjs') as typeof own;
const copies = { own, foreign };
type State = Record<string, unknown>;

async function answer(procedure: RunbookAsToolOptions['procedure']): Promise<RunbookEnvelope> {
  const tool = runbookAsTool({
    name: 'sizes',
    description: 'Judges sizes.',
    resultKind: 'verdict/sizes',
    rules: { name: 'sizes', version: '1' },
    verdicts: { decider: 'Size' },
    procedure,
  });
  return (await tool.execute({}, { toolCallId: 'c1' })) as RunbookEnvelope;
}

function sizeChart({ flowChart, decide }: typeof own, size: unknown) {
  const land = (verdict: string) => (scope: State) => {
    scope.row = { subject: `size ${size}`, verdict };
    scope.verdicts = [scope.row];
  };
  return flowChart<State>('Read', (scope) => void Object.assign(scope, { size }), 'read')
    .addDeciderFunction(
      'Size',
      (scope: State) =>
        decide(scope, [{ when: { size: { gt: 2 } }, then: 'big', label: 'over 2' }], {
          branch: 'small',
          label: 'to 2',
        }),
      'size',
    )
    .addFunctionBranch('big', 'Big', land('big'))
    .addFunctionBranch('small', 'Small', land('small'))
    .addFunctionBranch('declined', 'Declined', land('declined'))
    .end()
    .build();
}

function withoutRef({ result: { walk, ...result }, af_coverage }: RunbookEnvelope) {
  return { result, af_coverage, walk: { ...walk, ref: undefined } };
}

test('the two copies are two', () => {
  expect(foreign.decide).not.toBe(own.decide);
});

test.each([3, 1, 'large'])('a decision by rules of another copy is one of ours: size %s', async (size) => {
  const [ours, theirs] = await Promise.all([own, foreign].map((copy) => answer(() => sizeChart(copy, size))));
  expect(ours?.result.rows_total).toBe(1);
  expect(withoutRef(theirs as RunbookEnvelope)).toEqual(withoutRef(ours as RunbookEnvelope));
});

test.each(Object.entries(copies))('branches of a fan-out are judged whichever copy built them: %s', async (_, copy) => {
  const envelope = await answer(() =>
    copy
      .flowChart<State>('List', (scope) => void Object.assign(scope, { sizes: [1, 2, 3] }), 'list')
      .addParallelForEach<number>('Each', 'each', {
        items: (scope: State) => scope.sizes as number[],
        branch: (size) => sizeChart(copy, size),
        maxBranches: 5,
        into: 'results',
      })
      .addFunction(
        'Collect',
        (scope: State) => void Object.assign(scope, { verdicts: (scope.results as State[]).map(({ row }) => row) }),
        'collect',
      )
      .build(),
  );
  expect(envelope.result.verdicts?.map(({ verdict }) => verdict)).toEqual(['small', 'small', 'big']);
  expect(envelope.result.verdict_meanings).toMatchObject({ small: 'to 2', big: 'over 2' });
});

test.each(Object.entries(copies))('a selection takes its branches whichever copy made it: %s', async (_, copy) => {
  const taken: string[] = [];
  await answer(() =>
    copy
      .flowChart<State>('Read', (scope) => void Object.assign(scope, { size: 3 }), 'read')
      .addSelectorFunction(
        'Marks',
        (scope: State) =>
          copy.select(scope, [
            { when: { size: { gt: 2 } }, then: 'big' },
            { when: { size: { eq: 3 } }, then: 'three' },
            { when: { size: { eq: 4 } }, then: 'four' },
          ]) as never,
        'marks',
      )
      .addFunctionBranch('big', 'Big', () => void taken.push('big'))
      .addFunctionBranch('three', 'Three', () => void taken.push('three'))
      .addFunctionBranch('four', 'Four', () => void taken.push('four'))
      .end()
      .build(),
  );
  expect(taken).toEqual(['big', 'three']);
});

test.each(Object.entries(copies))('$break ends a run whichever copy built the chart: %s', async (_, copy) => {
  const envelope = await answer(() =>
    copy
      .flowChart<State>(
        'First',
        (scope) => {
          scope.report = { reached: 'first' };
          scope.$break('that is enough');
        },
        'first',
      )
      .addFunction('Second', (scope: State) => void Object.assign(scope, { report: { reached: 'second' } }), 'second')
      .build(),
  );
  expect(envelope.result.reached).toBe('first');
});

test("an author's own scopes stay the author's", async () => {
  const chart = own
    .flowChart<State>(
      'Read',
      (scope) => (scope.remember as (key: string, value: object) => void)('report', { answer: 42 }),
      'read',
    )
    .setScopeFactory(((context: never, stage: string, readOnly: unknown, env: never) => {
      const scope = new ScopeFacade(context, stage, readOnly, env);
      return Object.assign(scope, { remember: (key: string, value: unknown) => scope.setValue(key, value) });
    }) as never)
    .build();
  expect((await answer(() => chart)).result.answer).toBe(42);
});

test.each([
  ['by its keys', {}],
  ["by a mark of its author's", { [Symbol('reviewed')]: true }],
])('what only looks like a decision is none: %s', async (_, more) => {
  const chart = own
    .flowChart<State>('Read', () => undefined, 'read')
    .addDeciderFunction('Size', () => ({ branch: 'big', toString: () => 'small', ...more }) as never, 'size')
    .addFunctionBranch('big', 'Big', (scope: State) => void Object.assign(scope, { verdicts: [{ verdict: 'big' }] }))
    .addFunctionBranch(
      'small',
      'Small',
      (scope: State) => void Object.assign(scope, { verdicts: [{ verdict: 'small' }] }),
    )
    .end()
    .build();
  expect((await answer(() => chart)).result.verdicts).toEqual([{ verdict: 'small' }]);
});
