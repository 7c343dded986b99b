/** A cancel in any phase: what was finished stays, the rest says why it was not checked, and the answer still comes. */
import { listEvents, type RunRecord, requestCancel } from '@muster/results';
import { waitFor } from '@muster/testkit';
import { expect, test } from 'vitest';
import { STOP_GRACE_MS } from '../src/stop-grace.ts';
import { benchTools, type Hooks, machineNames } from './bench-runbooks.ts';
import { type Bench, openBench, signal, TENANT, untilAborted } from './worker-bench.ts';

const OPEN = 'the run was cancelled before this subject was assessed';

const withHooks = (hooks: Hooks) => openBench({ tools: benchTools(hooks) });

const cancel = async (bench: Bench, run: RunRecord) => {
  const { outcome } = await requestCancel(bench.db, { tenant: TENANT, runId: run.id, reason: 'enough' });
  expect(outcome).toBe('requested');
};

const history = async (bench: Bench, run: RunRecord) => {
  const page = await listEvents(bench.db, { tenant: TENANT, runId: run.id, limit: 100 });
  return page?.entries.map((event) => event.kind);
};

/** Nothing about it is due, sent or open any more. */
async function expectOver(bench: Bench, run: RunRecord): Promise<void> {
  const over = await bench.read(run);
  expect(over).toMatchObject({ status: 'cancelled', phase: 'done', answerKind: 'envelope', cancelReason: 'enough' });
  expect(await bench.count('chunks', `state = 'open'`)).toBe(0);
  expect(await bench.count('answers')).toBe(1);
}

test('before its start: nothing is planned, and the answer says so', async () => {
  const bench = await withHooks({
    survey: () => {
      throw new Error('it was planned');
    },
  });
  const run = await bench.accept('machine_check');
  await cancel(bench, run);
  await bench.work();
  await bench.ended(run);
  await expectOver(bench, run);
  expect(await bench.rows(run)).toEqual([]);
  const { body } = await bench.answer(run);
  expect(body.af_coverage.not_checked).toContainEqual({
    what: 'the subjects of this run, which were not counted',
    why: OPEN,
  });
  expect(await history(bench, run)).toEqual(['run_cancelled']);
});

test('while it plans: the plan is told to stop, and what it had found is nobody’s denominator', async () => {
  const begun = signal();
  const bench = await withHooks({
    survey: (_input, aborted) => {
      begun.give();
      return untilAborted(aborted);
    },
  });
  const run = await bench.accept('machine_check');
  await bench.work();
  await begun.given;
  await cancel(bench, run);
  await bench.ended(run);
  await expectOver(bench, run);
  const { body } = await bench.answer(run);
  expect(body.result.verdicts).toEqual([]);
  expect(JSON.stringify(body.af_coverage.not_checked)).toContain(OPEN);
  expect(await bench.count('chunks')).toBe(0);
});

test('while it assesses: finished verdicts stay, the one in flight and those that wait are not checked', async () => {
  const held = signal();
  const probed: string[] = [];
  const bench = await withHooks({
    survey: () => machineNames(20),
    probe: (machine, aborted) => {
      probed.push(machine);
      if (machine !== 'machine-007') return 95;
      held.give();
      return untilAborted(aborted);
    },
  });
  const run = await bench.accept('machine_check');
  await bench.work({ concurrency: 1 });
  await held.given;
  await cancel(bench, run);
  await bench.ended(run);
  await expectOver(bench, run);
  const rows = await bench.rows(run);
  expect(rows.map((row) => row.key)).toEqual(machineNames(20));
  expect(rows.slice(0, 7).map((row) => row.verdict)).toEqual(Array(7).fill('overloaded'));
  for (const row of rows.slice(7))
    expect(row).toMatchObject({ outcome: 'not_checked', reasonCode: 'cancelled', reason: OPEN });
  expect(probed).toEqual(machineNames(8));
  const { body } = await bench.answer(run);
  expect(body.result.subjects).toEqual({
    total: 20,
    ok: 0,
    problem: 7,
    declined: 0,
    not_checked: 13,
    cannot_cover: 0,
  });
});

test('while it collects: every verdict was reached, and it ends as cancelled', async () => {
  const begun = signal();
  const goOn = signal();
  const bench = await withHooks({
    report: async () => {
      begun.give();
      await goOn.given;
      return 'said at last';
    },
  });
  const run = await bench.accept('machine_check');
  await bench.work();
  await begun.given;
  await cancel(bench, run);
  goOn.give();
  await bench.ended(run);
  await expectOver(bench, run);
  const { body } = await bench.answer(run);
  expect(body.result).toMatchObject({ headline: 'said at last', subjects: { total: 12, ok: 12 } });
  expect((await history(bench, run))?.at(-1)).toBe('run_cancelled');
});

test('a procedure before its start: it never runs', async () => {
  const bench = await withHooks({
    survey: () => {
      throw new Error('it ran');
    },
  });
  const run = await bench.accept('machine_report');
  await cancel(bench, run);
  await bench.work();
  await bench.ended(run);
  await expectOver(bench, run);
  const { body } = await bench.answer(run);
  expect(body.af_coverage.not_checked).toEqual([{ what: "the procedure 'machine_report' as a whole", why: OPEN }]);
  expect(await history(bench, run)).toEqual(['run_cancelled']);
});

test('a procedure that runs: it is told to stop, and the answer says that nothing was judged', async () => {
  const begun = signal();
  const bench = await withHooks({
    survey: (_input, aborted) => {
      begun.give();
      return untilAborted(aborted);
    },
  });
  const run = await bench.accept('machine_report');
  await bench.work();
  await begun.given;
  await cancel(bench, run);
  await bench.ended(run);
  await expectOver(bench, run);
  expect(await bench.rows(run)).toEqual([]);
  expect(await history(bench, run)).toEqual(['run_started', 'run_cancelled']);
});

test('a cancelled run never runs again, whatever is delivered of it', async () => {
  const held = signal();
  let probes = 0;
  const bench = await withHooks({
    probe: (_machine, aborted) => {
      probes++;
      held.give();
      return untilAborted(aborted);
    },
  });
  const run = await bench.accept('machine_check');
  await bench.work({ concurrency: 1 });
  await held.given;
  await cancel(bench, run);
  await bench.ended(run);
  const before = { probes, run: await bench.read(run), rows: await bench.rows(run) };
  const { queues } = bench;
  const late = (kind: string, id: string) => ({ kind, id, runId: run.id, tenant: TENANT, dispatchNo: 99 });
  for (const kind of ['plan', 'collect']) await queues.runs.add(kind, late(kind, run.id), { jobId: `late_${kind}` });
  for (const { id } of await bench.chunks(run)) {
    await queues.chunks.add('assess', late('assess', id), { jobId: `late_${id}`, removeOnComplete: true });
  }
  const finished = () =>
    Promise.all([queues.runs.getJobCounts('completed'), queues.chunks.getJobCounts('waiting', 'active')]);
  await waitFor(finished, ([runs, chunks]) => runs.completed === 2 && chunks.waiting === 0 && chunks.active === 0);
  expect({ probes, run: await bench.read(run), rows: await bench.rows(run) }).toEqual(before);
});

test('a stage that comes to its end after it was told keeps its verdict, and nothing is begun behind it', async () => {
  const held = signal();
  const probed: string[] = [];
  const bench = await withHooks({
    probe: async (machine, aborted) => {
      probed.push(machine);
      if (machine !== 'machine-002') return 10;
      held.give();
      await untilAborted(aborted).catch(() => {});
      return 95;
    },
  });
  const run = await bench.accept('machine_check');
  await bench.work({ concurrency: 1 });
  await held.given;
  await cancel(bench, run);
  await bench.ended(run);
  await expectOver(bench, run);
  const rows = await bench.rows(run);
  expect(rows.map((row) => row.verdict ?? row.reasonCode)).toEqual([
    'fine',
    'fine',
    'overloaded',
    ...Array(9).fill('cancelled'),
  ]);
  expect(probed).toEqual(machineNames(3));
});

test('a stage that ignores the cancel is given up, and what it comes to later changes nothing', async () => {
  const held = signal();
  const goOn = signal();
  const over = signal();
  const bench = await withHooks({
    probe: async (machine) => {
      if (machine !== 'machine-002') return 10;
      held.give();
      await goOn.given;
      over.give();
      return 95;
    },
  });
  const run = await bench.accept('machine_check');
  await bench.work({ concurrency: 1 });
  await held.given;
  await cancel(bench, run);
  const ended = await bench.ended(run);
  await expectOver(bench, run);
  const rows = await bench.rows(run);
  expect(rows.map((row) => row.verdict ?? row.reasonCode)).toEqual(['fine', 'fine', ...Array(10).fill('cancelled')]);
  expect(ended.finishedAt!.getTime() - ended.cancelRequestedAt!.getTime()).toBeGreaterThanOrEqual(STOP_GRACE_MS);
  goOn.give();
  await over.given;
  // The worker that gave it up is none the worse: it takes the next run.
  const next = await bench.accept('machine_check');
  expect(await bench.ended(next)).toMatchObject({ status: 'completed' });
  expect(await bench.rows(run)).toEqual(rows);
});

test('while it collects, and its chart is told: the answer comes without the words of that chart, and says so', async () => {
  const begun = signal();
  const bench = await withHooks({
    report: (_counts, aborted) => {
      begun.give();
      return untilAborted(aborted);
    },
  });
  const run = await bench.accept('machine_check');
  await bench.work();
  await begun.given;
  await cancel(bench, run);
  await bench.ended(run);
  await expectOver(bench, run);
  const { body } = await bench.answer(run);
  expect(body.result.headline).toBeUndefined();
  expect(body.result.subjects).toMatchObject({ total: 12, ok: 12 });
  expect(body.result.verdict_meanings).toMatchObject({ fine: 'its load is not over 90' });
  expect(body.af_coverage.not_checked).toContainEqual({
    what: "the collect chart of 'machine_check', which sums the run up",
    why: 'the run was cancelled before it was through',
  });
});

test.each(['machine_check', 'machine_report'])('while %s waits for a person: it is ended', async (runbook) => {
  const bench = await withHooks({
    survey: () => {
      throw new Error('it went on');
    },
  });
  const run = await bench.accept(runbook);
  await bench.db.query(
    `update muster.runs set status = 'running', started_at = now(), revision = revision + 1, fence = 1, dispatched_at = now(),
      dispatch_no = 1 where id = $1`,
    [run.id],
  );
  await bench.db.query(`update muster.runs set status = 'interrupted', revision = revision + 1 where id = $1`, [
    run.id,
  ]);
  await bench.work();
  await cancel(bench, run);
  await bench.ended(run);
  await expectOver(bench, run);
});

test('when nobody hears of it: the row is read, and the run ends all the same', async () => {
  const held = signal();
  const bench = await withHooks({
    probe: (_machine, aborted) => {
      held.give();
      return untilAborted(aborted);
    },
  });
  const run = await bench.accept('machine_check');
  await bench.work({ concurrency: 1 });
  await held.given;
  // As the cancel writes it, but without its notice.
  await bench.db.query(
    `update muster.runs set cancel_requested_at = now(), cancel_reason = 'enough', stop_reason = 'cancelled' where id = $1`,
    [run.id],
  );
  await bench.ended(run);
  await expectOver(bench, run);
});
