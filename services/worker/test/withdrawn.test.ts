/**
 * Definitions that no worker offers any more (DESIGN 7): their runs are ended by workers that have not got them, with what
 * was reached before, and the answer says what was not. Instead of waiting for ten minutes, the rows are dated back.
 */
import { runbookEnvelopeSchema } from '@muster/envelope';
import { invariants, type RunRecord, requestCancel } from '@muster/results';
import { waitFor } from '@muster/testkit';
import { describe, expect, test } from 'vitest';
import { benchRunbooks, benchTools, type Hooks, machineNames, machineReport } from './bench-runbooks.ts';
import { type Bench, catalogOf, openBench, signal, TENANT, untilAborted } from './worker-bench.ts';

const GONE = 'definition withdrawn: no worker offers the definition of this run any more';
const LONG_AGO = new Date(Date.now() - 3_600_000);

/** A worker without the definitions of the fleet, or of the procedure. */
const stranger = (bench: Bench, has: 'nothing' | 'reports' = 'nothing') =>
  bench.work({ catalog: catalogOf(has === 'nothing' ? [] : [machineReport], benchTools()) });

/** As if the stranger had lived, and nobody had offered anything else, for a long time. */
async function letTimePass(bench: Bench): Promise<void> {
  await waitFor(
    () => bench.count('workers'),
    (workers) => workers === 1,
  );
  await bench.db.query(`update muster.definitions set offered_at = now() - interval '11 minutes'`);
  await bench.db.query(`update muster.workers set started_at = now() - interval '11 minutes'`);
}

const cases: [phase: string, runbook: string, hooks: (hold: Hold) => Hooks][] = [
  ['plan', 'machine_check', (hold) => ({ survey: (_input, aborted) => hold(aborted) })],
  [
    'assess',
    'machine_check',
    (hold) => ({
      survey: () => machineNames(20),
      probe: (machine, aborted) => (machine === 'machine-007' ? hold(aborted) : 95),
    }),
  ],
  ['collect', 'machine_check', (hold) => ({ probe: () => 95, report: (_counts, aborted) => hold(aborted) })],
  ['procedure', 'machine_report', (hold) => ({ survey: (_input, aborted) => hold(aborted) })],
];
type Hold = (aborted: AbortSignal | undefined) => Promise<never>;

/** A run that was given back in the middle of a phase by the last worker that has its definition. */
async function abandoned(runbook: string, hooks: (hold: Hold) => Hooks): Promise<{ bench: Bench; run: RunRecord }> {
  const held = signal();
  const hold: Hold = (aborted) => {
    held.give();
    return untilAborted(aborted);
  };
  const bench = await openBench({ tools: benchTools(hooks(hold)) });
  const run = await bench.accept(runbook, {}, { acceptedAt: LONG_AGO });
  const last = await bench.work({ concurrency: 1 });
  await held.given;
  await last.stop(2000);
  return { bench, run };
}

/** What the attempt that was given back had staged is swept later. */
async function expectSound(bench: Bench) {
  const broken = await invariants(bench.db);
  expect(broken.filter(({ what }) => !what.endsWith('is staged'))).toEqual([]);
}

async function expectAnswered(bench: Bench, run: RunRecord) {
  await expectSound(bench);
  const answer = await bench.answer(run);
  expect(answer.kind).toBe('envelope');
  expect(runbookEnvelopeSchema.safeParse(answer.body).error).toBeUndefined();
  return answer.body;
}

describe('withdrawn in the middle of', () => {
  test.each(cases)('%s: a worker without it ends the run', async (phase, runbook, hooks) => {
    const { bench, run } = await abandoned(runbook, hooks);
    await stranger(bench);
    await letTimePass(bench);
    expect(await bench.ended(run)).toMatchObject({ status: 'completed', stopReason: 'withdrawn' });
    const { af_coverage, result } = await expectAnswered(bench, run);
    expect(JSON.stringify(af_coverage.not_checked)).toContain(GONE);
    expect(result.rule_version).toBe('1');
    const rows = await bench.rows(run);
    if (phase === 'plan' || phase === 'procedure') {
      expect(rows).toEqual([]);
      expect(result.verdicts).toEqual([]);
    }
    if (phase === 'assess') {
      expect(rows.map((row) => row.verdict ?? row.reasonCode)).toEqual([
        ...Array(7).fill('overloaded'),
        ...Array(13).fill('withdrawn'),
      ]);
      expect(result.subjects).toMatchObject({ total: 20, problem: 7, not_checked: 13 });
      expect(result.verdicts).toHaveLength(7);
      expect(result.changes).toMatchObject({ outcome: 'first', counts: { baseline: 7 } });
      expect(result.verdict_meanings).toMatchObject({ overloaded: 'its load is over 90' });
    }
    if (phase === 'collect') {
      expect(result.subjects).toMatchObject({ total: 12, problem: 12, not_checked: 0 });
      expect(result.headline).toBeUndefined();
      expect(af_coverage.not_checked).toContainEqual({
        what: "the collect chart of 'machine_check', which sums the run up",
        why: GONE,
      });
    }
  });
});

test('a run that was cancelled is ended as cancelled without any waiting', async () => {
  const { bench, run } = await abandoned(cases[1]![1], cases[1]![2]);
  await requestCancel(bench.db, { tenant: TENANT, runId: run.id });
  await stranger(bench);
  expect(await bench.ended(run)).toMatchObject({ status: 'cancelled', stopReason: 'cancelled' });
  const { result } = await expectAnswered(bench, run);
  expect(result.subjects).toMatchObject({ total: 20, problem: 7, not_checked: 13 });
  expect((await bench.rows(run)).at(-1)).toMatchObject({ reasonCode: 'cancelled' });
});

test('where it was not kept what the runbook declared, the answer is a failure by name, and the rows stay', async () => {
  const { bench, run } = await abandoned(cases[1]![1], cases[1]![2]);
  await bench.db.query(`update muster.definitions set declaration = '{"name": "machine_check"}'`);
  await stranger(bench);
  await letTimePass(bench);
  expect(await bench.ended(run)).toMatchObject({ status: 'failed', stopReason: 'withdrawn', answerKind: 'failure' });
  expect((await bench.answer(run)).body).toMatchObject({ code: 'definition_withdrawn', phase: 'collect' });
  expect(await bench.rows(run)).toHaveLength(20);
  await expectSound(bench);
});

test('a worker that comes back in time finds its run as it was', async () => {
  const { bench, run } = await abandoned(cases[0]![1], cases[0]![2]);
  await stranger(bench, 'reports');
  const other = await bench.accept('machine_report');
  expect(await bench.ended(other)).toMatchObject({ status: 'completed' });
  expect(await bench.read(run)).toMatchObject({ phase: 'plan', stopReason: null });
  await bench.work({ catalog: catalogOf(benchRunbooks, benchTools()) });
  expect(await bench.ended(run)).toMatchObject({ status: 'completed', stopReason: null });
});
