/** What a chart knows when it goes on behind a question: its state as it was. */
import fc from 'fast-check';
import { type FlowChart, flowChart, interrupt } from 'footprintjs';
import { describe, expect, test } from 'vitest';
import { runProcedure } from '../src/index.ts';
import { bodyOf, CALL, chartOf, failureOf, runbookOf, type Scope, SECRET, throughOneQuestion } from './asking.ts';

describe('state comes back as it was', () => {
  test('with slots that a failed branch left empty, with what was copied from scope, and with the key __proto__', async () => {
    const odd = JSON.parse('{"__proto__":{"polluted":1},"list":[1,{"deep":[true,null]}]}');
    const branch = (item: unknown) =>
      flowChart<Scope>(
        'One',
        (scope) => {
          if (item === 2) throw Object.assign(new Error(SECRET), { code: 'E2' });
          scope.done = item;
        },
        'one',
      ).build();
    const runbook = runbookOf(() =>
      flowChart<Scope>('Before', (scope) => void Object.assign(scope, { items: [1, 2, 3], odd }), 'before')
        .addFunction(
          'Copy',
          (scope: Scope) => {
            scope.copy = (scope.odd as Scope).list;
          },
          'copy',
        )
        .addParallelForEach('Each', 'each', {
          items: (scope: Scope) => [...(scope.items as number[])],
          branch,
          maxBranches: 5,
          into: 'results',
        } as never)
        .addFunction('Ask', (scope: Scope) => void interrupt(scope, { reason: 'Go on?' }), 'ask')
        .addFunction(
          'After',
          (scope: Scope) => {
            const slots = scope.results as unknown[];
            const own = Object.hasOwn(scope.odd as object, '__proto__');
            scope.report = { empty: slots.map((slot) => slot === undefined), copy: scope.copy, own };
          },
          'after',
        )
        .build(),
    );
    const { outcome } = await throughOneQuestion(runbook);
    const { af_coverage: ledger, result } = bodyOf(outcome);
    expect(result).toMatchObject({ empty: [false, true, false], copy: [1, { deep: [true, null] }], own: true });
    // The branch failed in the leg before the question.
    expect(ledger.not_checked).toContainEqual({
      what: expect.stringContaining("1 item(s) of the fan-out 'Each'"),
      why: 'the branch failed: Error (E2)',
    });
  });

  test.each([
    ['a Map', () => new Map([['a', 1]])],
    ['a date', () => new Date(0)],
    ['NaN', () => Number.NaN],
    ['a bigint', () => 1n],
  ])('or it is refused by its key, and its value is not told: %s', async (_what, make) => {
    const runbook = runbookOf(() =>
      chartOf(
        (scope) => {
          scope.odd_one = { deep: [make()] };
        },
        () => undefined,
      ),
    );
    const error = failureOf(await runProcedure(runbook, {}, CALL));
    expect(error).toMatchObject({
      code: 'paused',
      message: expect.stringContaining("under 'odd_one' is no plain JSON"),
    });
  });

  test('any JSON state goes through a question unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string(), fc.jsonValue()), async (value) => {
        const state = JSON.parse(JSON.stringify(value));
        let seen: unknown;
        const runbook = runbookOf(() =>
          chartOf(
            (scope) => {
              scope.kept = state;
            },
            (scope) => {
              seen = JSON.parse(JSON.stringify(scope.kept));
            },
          ),
        );
        await throughOneQuestion(runbook);
        expect(seen).toEqual(state);
      }),
      { numRuns: 60 },
    );
  });

  test('a fan-out behind the question runs whole, over more items than the substrate goes deep', async () => {
    const branch = (item: unknown) =>
      flowChart<Scope>(
        'One',
        (scope) => {
          scope.done = item;
        },
        'one',
      ).build() as FlowChart;
    const runbook = runbookOf(() =>
      flowChart<Scope>('Ask', (scope) => void interrupt(scope, { reason: 'Go on?' }), 'ask')
        .addParallelForEach('Each', 'each', {
          items: () => Array.from({ length: 520 }, (_, index) => index),
          branch,
          maxBranches: 520,
          into: 'results',
        } as never)
        .addFunction(
          'After',
          (scope: Scope) => {
            scope.report = { done: (scope.results as unknown[]).filter((slot) => slot !== undefined).length };
          },
          'after',
        )
        .build(),
    );
    expect(bodyOf((await throughOneQuestion(runbook)).outcome).result).toMatchObject({ done: 520 });
  });
});
