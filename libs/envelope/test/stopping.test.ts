/** Asking a run to end, and answering for a runbook whose charts nobody has any more. */
import { decide, flowChart } from 'footprintjs';
import { describe, expect, test } from 'vitest';
import {
  answerDeclaration,
  collectDeclared,
  collectFleet,
  createAssessor,
  defineTool,
  dispatchTools,
  type FleetResults,
  NO_TOTALS,
  readAnswerDeclaration,
  runbookEnvelopeSchema,
} from '../src/index.ts';
import { settled } from './fake-timers.ts';
import { ARGS, assessChart, fleetOf, OTHERWISE, RULES } from './fleet-runbook.ts';
import type { State } from './procedures.ts';

const SUBJECT = { ordinal: 0, key: 'a', subject: { id: 'a', age: 8 } };

/** A fleet whose subjects wait in their first stage for what the test does. */
function waiting(wait: (signal: AbortSignal) => Promise<unknown>) {
  const runbook = fleetOf([], {
    assess: () =>
      flowChart<State>(
        'Wait',
        async (scope) => {
          await wait((scope as unknown as { $getEnv(): { signal: AbortSignal } }).$getEnv().signal);
          Object.assign(scope, { known: true, age: 8, act: 'none' });
        },
        'wait',
      )
        .addDeciderFunction('State', (scope: State) => decide(scope, RULES, OTHERWISE), 'state')
        .addFunctionBranch('declined', 'Declined', () => undefined)
        .addFunctionBranch('odd', 'Odd', () => undefined)
        .addFunctionBranch('stale', 'Stale', () => undefined)
        .addFunctionBranch('fresh', 'Fresh', () => undefined)
        .end()
        .build(),
  });
  return createAssessor(runbook, ARGS, { toolCallId: 'c1' });
}

describe('a subject that is asked to end', () => {
  test('is told in its stage, and has its verdict when it comes to one all the same', async () => {
    const told = Promise.withResolvers<unknown>();
    const goOn = Promise.withResolvers<void>();
    const stop = new AbortController();
    const running = waiting(async (signal) => {
      signal.addEventListener('abort', () => told.resolve(signal.reason));
      await goOn.promise;
    }).assess(SUBJECT, undefined, stop.signal);
    stop.abort('cancelled');
    expect(await told.promise).toBe('cancelled');
    goOn.resolve();
    expect(await running).toMatchObject({ outcome: 'verdict', verdict: 'stale' });
  });

  test('is aborted when it ends without one', async () => {
    const stop = new AbortController();
    const running = waiting(
      (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    ).assess(SUBJECT, undefined, stop.signal);
    stop.abort('cancelled');
    expect(await running).toBe('aborted');
    const asked = AbortSignal.abort('cancelled');
    expect(await waiting(async (signal) => signal.throwIfAborted()).assess(SUBJECT, undefined, asked)).toBe('aborted');
  });

  test('is waited for no longer than until its run is over', async () => {
    const [stop, over] = [new AbortController(), new AbortController()];
    let ended = false;
    const running = waiting(() => new Promise(() => undefined)).assess(SUBJECT, over.signal, stop.signal);
    void running.then(() => {
      ended = true;
    });
    stop.abort('cancelled');
    await settled();
    expect(ended).toBe(false);
    over.abort('cancelled');
    expect(await running).toBe('aborted');
  });

  test('begins no tool once its run is over', async () => {
    const [stop, over] = [new AbortController(), new AbortController()];
    const seen: unknown[] = [];
    const tool = defineTool({
      name: 'restart',
      description: 'Restarts.',
      execute: (_args, { signal }) => seen.push(signal?.aborted),
    });
    const tools = dispatchTools([tool], { toolCallId: 'c1', signal: stop.signal, endSignal: over.signal });
    stop.abort('cancelled');
    await tools.call('restart');
    over.abort('cancelled');
    await expect(tools.call('restart')).rejects.toMatchObject({ code: 'run_over', tool: 'restart' });
    expect(seen).toEqual([true]);
  });
});

describe('what is kept of a runbook for its answers', () => {
  const runbook = fleetOf([], {
    assess: (tools) => assessChart(tools),
    collect: () =>
      flowChart<{ report: unknown }>(
        'Sum',
        (scope) => void Object.assign(scope, { report: { said: 1 } }),
        'sum',
      ).build(),
    more: { presentation: 'panel', walk: { cap: 7 } },
  });
  const results: FleetResults = {
    counts: { total: 3, ok: 1, problem: 1, declined: 0, not_checked: 1, cannot_cover: 0 },
    totals: { ...NO_TOTALS, heard: { rules: { stale: [2, 'older than 7 days'] }, defaults: {} } },
    head: [
      { key: 'b', verdict: 'stale', standing: 'problem', reason: 'older than 7 days', columns: { age: 8 } },
      { key: 'a', verdict: 'fresh', standing: 'ok', reason: 'within 7 days', columns: { age: 1 } },
    ],
    open: {
      groups: [{ outcome: 'not_checked', reason: 'withdrawn', count: 1, samples: ['c'] }],
      restGroups: 0,
      restSubjects: 0,
    },
    walk: async function* () {},
  };

  test('comes back from JSON as it was, and nothing else is taken for it', () => {
    const kept = answerDeclaration(runbook);
    expect(readAnswerDeclaration(JSON.parse(JSON.stringify(kept)))).toEqual(kept);
    for (const other of [undefined, null, {}, { ...kept, rules: 'v1' }, { ...kept, maxRows: 0 }]) {
      expect(readAnswerDeclaration(other)).toBeUndefined();
    }
  });

  test('gives the answer that the runbook gives, but for the words of its collect chart, and says so', async () => {
    const call = { toolCallId: 'c1', runId: 'r1' };
    const [whole, declared] = [
      await collectFleet(runbook, ARGS, call, results),
      await collectDeclared(answerDeclaration(runbook), call, results, 'nobody has it'),
    ];
    if (whole.kind !== 'envelope' || declared.kind !== 'envelope') throw new Error('no envelopes');
    expect(runbookEnvelopeSchema.safeParse(declared.body).error).toBeUndefined();
    const { said, walk: _walk, ...rest } = whole.body.result;
    const { walk, ...same } = declared.body.result;
    expect(said).toBe(1);
    expect(walk).toMatchObject({ rows: 0, steps_executed: 0 });
    expect(JSON.stringify(same)).toBe(JSON.stringify(rest));
    const left = { what: "the collect chart of 'ages', which sums the run up", why: 'nobody has it' };
    expect(declared.body.af_coverage.not_checked).toEqual([left, ...whole.body.af_coverage.not_checked!]);
  });

  test('a runbook without a collect chart leaves nothing out', async () => {
    const declared = await collectDeclared(answerDeclaration(fleetOf([])), { toolCallId: 'c1' }, results, 'nobody');
    expect(JSON.stringify(declared)).not.toContain('nobody');
  });

  test('counters that do not add up are a failure here too', async () => {
    const counts = { ...results.counts, total: 4 };
    const answer = await collectDeclared(answerDeclaration(runbook), { toolCallId: 'c1' }, { ...results, counts }, 'x');
    expect(answer).toMatchObject({ kind: 'failure', error: { code: 'ledger_mismatch' } });
  });
});
