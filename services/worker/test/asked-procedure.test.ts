/** A procedure that asks: it goes on once from where it stood, and however it is stopped, one answer says what happened. */
import { invariants, requestCancel } from '@muster/results';
import { testQueueBackends, waitFor } from '@muster/testkit';
import { describe, expect, test } from 'vitest';
import { answer, asked, askingRunbooks, SHORTEST_MS } from './asking-runbooks.ts';
import { benchTools, machineNames, machineReport } from './bench-runbooks.ts';
import { type Bench, type BenchOptions, catalogOf, openBench, signal, TENANT, untilAborted } from './worker-bench.ts';

const YES = { approved: true, note: 'do it' };

/** A bench that writes down what its tools were asked. */
async function openTold(
  options: BenchOptions = {},
  report: (aborted: AbortSignal | undefined) => unknown = () => 'done',
) {
  const calls: unknown[] = [];
  const tools = benchTools({
    survey: () => {
      calls.push('survey');
      return machineNames(2);
    },
    report: (said, aborted) => {
      calls.push(said);
      return report(aborted);
    },
  });
  return { calls, bench: await openBench({ runbooks: askingRunbooks, tools, ...options }) };
}

type RunRow = Awaited<ReturnType<Bench['accept']>>;

const resumes = (bench: Bench, run: RunRow) =>
  bench.count('run_events', `run_id = '${run.id}' and kind = 'run_resumed'`);

/** One answer that says that nothing was judged and why, and nothing left over. */
async function expectNothingJudged(bench: Bench, run: RunRow, why: string): Promise<void> {
  expect(await bench.read(run)).toMatchObject({ status: 'cancelled', phase: 'done', answerKind: 'envelope' });
  const { body } = await bench.answer(run);
  expect(body.result.verdicts).toEqual([]);
  expect(body.af_coverage.not_checked).toEqual([{ what: `the procedure '${run.runbookName}' as a whole`, why }]);
  expect(await bench.count('answers', `run_id = '${run.id}'`)).toBe(1);
  expect(await bench.count('interruptions', 'checkpoint is not null')).toBe(0);
  expect(await invariants(bench.db)).toEqual([]);
}

describe.each(await testQueueBackends())('on $name', (queue) => {
  test('answered by many at the same time, it goes on once, with the answer that was stored', async () => {
    const { bench, calls } = await openTold({ queue });
    const run = await bench.accept('asked_fix');
    const first = await bench.work();
    const { number, question, details } = await asked(bench, run);
    expect({ question, details }).toEqual({ question: 'Fix 2 machines?', details: { asked: 1 } });
    await first.stop(1000);
    const given = Array.from({ length: 8 }, (_, index) => ({ approved: index % 2 === 0, note: `answer ${index}` }));
    const outcomes = await Promise.all(given.map((one) => answer(bench, run, one, { number })));
    const taken = outcomes.flatMap(({ outcome }, index) => (outcome === 'resumed' ? [given[index]] : []));
    expect(taken).toHaveLength(1);
    for (const { outcome } of outcomes) expect(outcome).toMatch(/^(resumed|not_interrupted)$/);
    await Promise.all([bench.work(), bench.work()]);
    expect(await bench.ended(run)).toMatchObject({ status: 'completed', answerKind: 'envelope' });
    expect(calls).toEqual(['survey', taken[0]]);
    expect((await bench.rows(run)).map(({ reason }) => reason)).toEqual([taken[0]!.note, taken[0]!.note]);
    expect(await resumes(bench, run)).toBe(1);
    expect(await bench.count('answers')).toBe(1);
    expect(await invariants(bench.db)).toEqual([]);
  });
});

test('what an answer leaves out is there for its chart, as the runbook’s schema has it', async () => {
  const { bench, calls } = await openTold();
  const run = await bench.accept('asked_fix');
  await bench.work();
  await asked(bench, run);
  await answer(bench, run, { approved: false });
  await bench.ended(run);
  expect(calls).toEqual(['survey', { approved: false, note: 'no words' }]);
});

test('it may ask again: each question has an answer of its own, and only the last checkpoint is kept', async () => {
  const { bench, calls } = await openTold();
  const run = await bench.accept('asked_twice');
  await bench.work();
  await asked(bench, run, 1);
  await answer(bench, run, { approved: false, note: 'first' });
  expect(await asked(bench, run, 2)).toMatchObject({ details: { asked: 2 } });
  expect(await bench.count('interruptions', 'checkpoint is not null')).toBe(1);
  // It was meant for the question before.
  expect(await answer(bench, run, YES, { number: 1 })).toMatchObject({ outcome: 'not_interrupted' });
  await answer(bench, run, YES);
  expect(await bench.ended(run)).toMatchObject({ status: 'completed' });
  expect(calls).toEqual(['survey', YES]);
  expect(await invariants(bench.db)).toEqual([]);
});

test('a worker that stops while it goes on hands it back, and another goes on from the same place', async () => {
  const begun = signal();
  let held = true;
  const { bench, calls } = await openTold({}, (aborted) => {
    if (!held) return 'done';
    begun.give();
    return untilAborted(aborted);
  });
  const run = await bench.accept('asked_fix');
  const leaving = await bench.work();
  await asked(bench, run);
  await answer(bench, run, YES);
  await begun.given;
  held = false;
  await leaving.stop(2000);
  expect(await bench.read(run)).toMatchObject({ status: 'running', starts: 0 });
  await bench.work();
  expect(await bench.ended(run)).toMatchObject({ status: 'completed' });
  expect(calls).toEqual(['survey', YES, YES]);
  expect(await bench.count('answers')).toBe(1);
});

describe('stopped', () => {
  const CANCELLED = 'the run was cancelled before this subject was assessed';
  const cancel = (bench: Bench, run: RunRow) =>
    requestCancel(bench.db, { tenant: TENANT, runId: run.id, reason: 'enough' });

  test.each([
    ['a worker of its definition', catalogOf(askingRunbooks, benchTools())],
    ['a worker that has not got its definition', catalogOf([machineReport], benchTools())],
  ])('while it waits, by %s: nothing was judged, and no answer counts any more', async (_who, catalog) => {
    const { bench, calls } = await openTold();
    const run = await bench.accept('asked_fix');
    const first = await bench.work();
    await asked(bench, run);
    await first.stop(1000);
    await waitFor(
      () => bench.count('workers'),
      (left) => left === 0,
    );
    expect(await cancel(bench, run)).toMatchObject({ outcome: 'requested' });
    expect(await answer(bench, run, YES)).toEqual({ outcome: 'stopping' });
    await bench.work({ catalog });
    await bench.ended(run);
    await expectNothingJudged(bench, run, CANCELLED);
    expect(calls).toEqual(['survey']);
  });

  test('while it goes on: it is told to stop, and the answer says so', async () => {
    const begun = signal();
    const { bench } = await openTold({}, (aborted) => {
      begun.give();
      return untilAborted(aborted);
    });
    const run = await bench.accept('asked_fix');
    await bench.work();
    await asked(bench, run);
    await answer(bench, run, YES);
    await begun.given;
    await cancel(bench, run);
    await bench.ended(run);
    await expectNothingJudged(bench, run, CANCELLED);
  });

  test('at the same time as it is answered: one answer, as cancelled', async () => {
    const { bench } = await openTold({}, untilAborted);
    await bench.work();
    for (let round = 0; round < 4; round++) {
      const run = await bench.accept('asked_fix');
      await asked(bench, run);
      const [given, stop] = await Promise.all([answer(bench, run, YES), cancel(bench, run)]);
      expect(given.outcome).toMatch(/^(resumed|stopping)$/);
      expect(stop.outcome).toBe('requested');
      await bench.ended(run);
      await expectNothingJudged(bench, run, CANCELLED);
    }
  });

  test('on its way to the question, by nobody’s notice: it does not ask any more', async () => {
    const begun = signal();
    const goOn = signal();
    const bench = await openBench({
      runbooks: askingRunbooks,
      tools: benchTools({
        survey: async () => {
          begun.give();
          await goOn.given;
          return machineNames(2);
        },
      }),
    });
    const run = await bench.accept('asked_fix');
    await bench.work();
    await begun.given;
    // As the cancel writes it, but without its notice.
    await bench.db.query(
      `update muster.runs set cancel_requested_at = now(), cancel_reason = 'enough', stop_reason = 'cancelled' where id = $1`,
      [run.id],
    );
    goOn.give();
    await bench.ended(run);
    // The walk that it had filed by then is nobody's, and goes when the sweeper thinks it old.
    await bench.work({ now: () => new Date(Date.now() + SHORTEST_MS) });
    await waitFor(
      () => bench.count('artifacts', `state = 'staged'`),
      (left) => left === 0,
      { what: 'the sweeper' },
    );
    await expectNothingJudged(bench, run, CANCELLED);
    expect(await bench.count('interruptions')).toBe(0);
  });

  test('by nobody’s answer in time: it ends as cancelled', async () => {
    const { bench, calls } = await openTold();
    const run = await bench.accept('asked_fix');
    const early = await bench.work();
    await asked(bench, run);
    await early.stop(1000);
    await bench.work({ now: () => new Date(Date.now() + SHORTEST_MS) });
    expect(await bench.ended(run)).toMatchObject({ stopReason: 'expired', cancelReason: 'nobody answered in time' });
    await expectNothingJudged(bench, run, 'nobody answered what the run asked in time');
    expect(calls).toEqual(['survey']);
  });
});

test('a question whose answer the runbook does not declare fails the run as paused, and nothing is kept of it', async () => {
  const { bench } = await openTold();
  const run = await bench.accept('mute_fix');
  await bench.work();
  expect(await bench.ended(run)).toMatchObject({ status: 'failed', answerKind: 'failure' });
  const { body } = await bench.answer(run);
  expect(body).toMatchObject({ code: 'paused', phase: 'procedure', message: expect.stringContaining('resume') });
  expect(await bench.count('interruptions')).toBe(0);
  expect(await invariants(bench.db)).toEqual([]);
});

test('a stored answer that does not fit its schema fails the run instead of going into its chart', async () => {
  const { bench, calls } = await openTold();
  const run = await bench.accept('asked_fix');
  await bench.work();
  await asked(bench, run);
  await answer(bench, run, { approved: 'geheim' as never });
  expect(await bench.ended(run)).toMatchObject({ status: 'failed', answerKind: 'failure' });
  const { body } = await bench.answer(run);
  expect(body).toMatchObject({ code: 'checkpoint_invalid', message: expect.stringContaining('question 1') });
  expect(JSON.stringify(body)).not.toContain('geheim');
  expect(calls).toEqual(['survey']);
  expect(await invariants(bench.db)).toEqual([]);
});
