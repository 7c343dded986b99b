/** A fleet that asks for approval: its plan is frozen, nothing is assessed before a person says yes, and a no is an answer. */
import { invariants, listEvents, requestCancel } from '@muster/results';
import { testQueueBackends, waitFor } from '@muster/testkit';
import { describe, expect, test } from 'vitest';
import { answer, asked, askingRunbooks, SHORTEST_MS } from './asking-runbooks.ts';
import { benchTools, type Hooks, machineCheck, machineNames } from './bench-runbooks.ts';
import { type Bench, type BenchOptions, catalogOf, openBench, TENANT } from './worker-bench.ts';

/** A bench whose assess chart leaves a mark for every machine that it looks at. */
async function openMarked(options: BenchOptions = {}, hooks: Hooks = {}) {
  const marks: string[] = [];
  const tools = benchTools({
    survey: () => machineNames(12),
    probe: (machine) => {
      marks.push(machine);
      return machine.endsWith('3') ? 95 : 10;
    },
    ...hooks,
  });
  return { marks, bench: await openBench({ runbooks: askingRunbooks, tools, ...options }) };
}

type RunRow = Awaited<ReturnType<Bench['accept']>>;

/** What a caller reads of the rows, less where their walks lie. */
const told = async (bench: Bench, run: RunRow) =>
  (await bench.rows(run)).map(({ key, outcome, verdict, standing, reason, columns }) => ({
    key,
    outcome,
    verdict,
    standing,
    reason,
    columns,
  }));

const kinds = async (bench: Bench, run: RunRow) =>
  (await listEvents(bench.db, { tenant: TENANT, runId: run.id, limit: 100 }))!.entries.map(({ kind }) => kind);

/** It came to its end as cancelled, with nothing checked for this reason, one answer, and nothing left over. */
async function expectUnchecked(bench: Bench, run: RunRow, reasonCode: string, reason: string): Promise<void> {
  expect(await bench.read(run)).toMatchObject({ status: 'cancelled', answerKind: 'envelope', subjectsTotal: 12 });
  const rows = await bench.rows(run);
  expect(rows.map(({ key }) => key)).toEqual(machineNames(12));
  for (const row of rows) expect(row).toMatchObject({ outcome: 'not_checked', reasonCode, reason });
  const { body } = await bench.answer(run);
  expect(body.result.subjects).toMatchObject({ total: 12, ok: 0, problem: 0, not_checked: 12 });
  expect(JSON.stringify(body.af_coverage.not_checked)).toContain(reason);
  expect(await bench.count('answers', `run_id = '${run.id}'`)).toBe(1);
  expect(await invariants(bench.db)).toEqual([]);
}

describe.each(await testQueueBackends())('on $name', (queue) => {
  test('nothing is assessed before the answer, and after a yes its rows are those of a fleet that asks nobody', async () => {
    const { bench, marks } = await openMarked({ queue });
    const run = await bench.accept('asked_check');
    await bench.work();
    expect(await asked(bench, run)).toMatchObject({
      question: 'Look at 12 machines in 10 racks?',
      source: 'approval',
      neededRole: 'approver',
    });
    // A run that was accepted later goes past it through both queues.
    const other = await bench.accept('machine_check');
    expect(await bench.ended(other)).toMatchObject({ status: 'completed' });
    expect(marks).toHaveLength(12);
    expect(await bench.read(run)).toMatchObject({ status: 'interrupted', phase: 'assess', subjectsTotal: 12 });
    expect(await bench.rows(run)).toEqual([]);
    expect(await bench.count('chunks', `run_id = '${run.id}' and (dispatch_no > 0 or fence > 0)`)).toBe(0);

    expect(await answer(bench, run, { approved: true })).toMatchObject({ outcome: 'resumed' });
    expect(await bench.ended(run)).toMatchObject({ status: 'completed', stopReason: null });
    expect(await told(bench, run)).toEqual(await told(bench, other));
    expect(marks).toHaveLength(24);
    expect(await kinds(bench, run)).toEqual(
      expect.arrayContaining(['run_interrupted', 'run_resumed', 'run_completed']),
    );
    expect(await invariants(bench.db)).toEqual([]);
  });

  test('after a no nothing was checked, the reason says so, and the answer comes', async () => {
    const { bench, marks } = await openMarked({ queue });
    const run = await bench.accept('asked_check');
    await bench.work();
    await asked(bench, run);
    const no = { approved: false, reason: 'not on a Friday' };
    expect(await answer(bench, run, no, { refused: { reason: no.reason } })).toMatchObject({ outcome: 'refused' });
    expect(await bench.ended(run)).toMatchObject({
      stopReason: 'refused',
      cancelReason: 'not approved: not on a Friday',
    });
    await expectUnchecked(bench, run, 'refused', 'the run was not approved');
    expect(marks).toEqual([]);
  });

  test('a queue that loses everything while it waits sends none of it', async () => {
    const { bench, marks } = await openMarked({ queue });
    const run = await bench.accept('asked_check');
    const worker = await bench.work();
    await asked(bench, run);
    await worker.stop(1000);
    await bench.loseQueue();
    await bench.backend.prepare();
    await bench.work();
    expect(await bench.ended(await bench.accept('machine_report'))).toMatchObject({ status: 'completed' });
    expect(marks).toEqual([]);
    expect(await bench.count('chunks', 'dispatch_no > 0')).toBe(0);
    await answer(bench, run, { approved: true });
    expect(await bench.ended(run)).toMatchObject({ status: 'completed' });
    expect(marks).toHaveLength(12);
  });
});

test('with a canary it asks first, and the rows are the same', async () => {
  const { bench, marks } = await openMarked();
  const run = await bench.accept('careful_check', {}, { canaryPercent: 25 });
  await bench.work();
  await asked(bench, run);
  expect(marks).toEqual([]);
  await answer(bench, run, { approved: true });
  expect(await bench.ended(run)).toMatchObject({ status: 'completed' });
  const other = await bench.accept('machine_check');
  await bench.ended(other);
  expect(await told(bench, run)).toEqual(await told(bench, other));
});

test.each([
  ['a dry run', 'asked_check', { dryRun: true }, machineNames(12)],
  ['a plan without subjects', 'asked_check', {}, []],
  ['a dry run whose question could not even be made', 'unsure_check', { dryRun: true }, machineNames(12)],
  ['a plan without subjects whose question could not even be made', 'unsure_check', {}, []],
])('%s asks nobody', async (_what, runbook, over, names) => {
  const { bench } = await openMarked({}, { survey: () => names });
  const run = await bench.accept(runbook, {}, over);
  await bench.work();
  expect(await bench.ended(run)).toMatchObject({ status: 'completed', subjectsTotal: names.length });
  expect(await bench.count('interruptions')).toBe(0);
});

test('an approval that cannot be asked for fails the run by name, and nothing is assessed', async () => {
  const { bench, marks } = await openMarked();
  const run = await bench.accept('unsure_check');
  await bench.work();
  expect(await bench.ended(run)).toMatchObject({ status: 'failed' });
  const { body } = await bench.answer(run);
  expect(body).toMatchObject({ code: 'approve_failed', phase: 'plan' });
  expect(JSON.stringify(body)).not.toContain('geheim');
  expect(marks).toEqual([]);
  expect(await invariants(bench.db)).toEqual([]);
});

test('nobody answers in time: it ends as cancelled, with nothing checked', async () => {
  const { bench, marks } = await openMarked();
  const run = await bench.accept('asked_check');
  const early = await bench.work();
  const question = await asked(bench, run);
  expect(question.expiresAt.getTime() - question.openedAt.getTime()).toBe(SHORTEST_MS);
  await early.stop(1000);
  await bench.work({ now: () => new Date(Date.now() + SHORTEST_MS) });
  expect(await bench.ended(run)).toMatchObject({ stopReason: 'expired', cancelReason: 'nobody answered in time' });
  await expectUnchecked(bench, run, 'expired', 'nobody answered what the run asked in time');
  expect(marks).toEqual([]);
  expect(await bench.count('interruptions', `state = 'expired'`)).toBe(1);
  expect(await answer(bench, run, { approved: true })).toEqual({ outcome: 'not_interrupted', status: 'cancelled' });
});

test('a deadline that comes while it waits ends it as well', async () => {
  const { bench } = await openMarked();
  const deadlineAt = new Date(Date.now() + SHORTEST_MS / 2);
  const run = await bench.accept('asked_check', {}, { deadlineAt });
  const early = await bench.work();
  await asked(bench, run);
  await early.stop(1000);
  await bench.work({ now: () => deadlineAt });
  await bench.ended(run);
  await expectUnchecked(bench, run, 'expired', 'nobody answered what the run asked in time');
});

describe.each([
  ['a worker of its definition', catalogOf(askingRunbooks, benchTools())],
  ['a worker that has not got its definition', catalogOf([machineCheck], benchTools())],
])('cancelled while it waits, by %s', (_who, catalog) => {
  test('it ends as cancelled, with nothing checked, and no answer counts any more', async () => {
    const { bench, marks } = await openMarked();
    const run = await bench.accept('asked_check');
    const planner = await bench.work();
    await asked(bench, run);
    await planner.stop(1000);
    await waitFor(
      () => bench.count('workers'),
      (left) => left === 0,
    );
    const { outcome } = await requestCancel(bench.db, { tenant: TENANT, runId: run.id, reason: 'enough' });
    expect(outcome).toBe('requested');
    expect(await answer(bench, run, { approved: true })).toEqual({ outcome: 'stopping' });
    await bench.work({ catalog });
    expect(await bench.ended(run)).toMatchObject({ stopReason: 'cancelled', cancelReason: 'enough' });
    await expectUnchecked(bench, run, 'cancelled', 'the run was cancelled before this subject was assessed');
    expect(marks).toEqual([]);
    expect(await bench.count('interruptions', `state = 'dropped'`)).toBe(1);
  });
});

test('a yes and a cancel at the same time: one answer, as cancelled, and every subject has one row', async () => {
  const { bench } = await openMarked();
  await bench.work();
  for (let round = 0; round < 4; round++) {
    const run = await bench.accept('asked_check');
    await asked(bench, run);
    const [, stop] = await Promise.all([
      answer(bench, run, { approved: true }),
      requestCancel(bench.db, { tenant: TENANT, runId: run.id }),
    ]);
    expect(stop.outcome).toBe('requested');
    expect(await bench.ended(run)).toMatchObject({ status: 'cancelled', answerKind: 'envelope' });
    expect((await bench.rows(run)).map(({ key }) => key)).toEqual(machineNames(12));
  }
  expect(await invariants(bench.db)).toEqual([]);
});
