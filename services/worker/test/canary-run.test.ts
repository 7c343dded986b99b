/** A canary goes first and alone; what it says decides about the rest; and but for that the run is the same. */
import { readArtifactRange } from '@muster/artifacts';
import { scopeOf } from '@muster/host';
import { invariants, type RunRecord, requestCancel } from '@muster/results';
import { testQueueBackends, waitFor } from '@muster/testkit';
import { expect, test } from 'vitest';
import type { Hooks } from './bench-runbooks.ts';
import { looseCheck, rackCheck, racked, rackTools } from './rack-runbook.ts';
import { type AnswerBody, type Bench, openBench, signal, untilAborted } from './worker-bench.ts';

const MACHINES = racked(40, 8).flat();
const rackOf = (machine: string) => MACHINES.find(({ name }) => name === machine)!.rack!;

async function openRacks(hooks: Hooks = {}, queue = {}): Promise<Bench> {
  return await openBench({ tools: rackTools(hooks), runbooks: [rackCheck, looseCheck], ...queue });
}

/** The racks of a run's canary, by what its chunks say. */
async function canaryRacks(bench: Bench, run: RunRecord): Promise<Set<string>> {
  const { rows } = await bench.db.query<{ rack: string }>(
    `select distinct subjects.target as rack from muster.subjects join muster.chunks on chunks.id = subjects.chunk_id
      where chunks.run_id = $1 and chunks.wave = 0`,
    [run.id],
  );
  return new Set(rows.map(({ rack }) => rack));
}

async function walkOf(bench: Bench, run: RunRecord, body: AnswerBody): Promise<string> {
  const range = { start: 0, end: 1_000_000 };
  const read = await readArtifactRange(bench.store, scopeOf(run), body.result.walk.ref, range);
  return Buffer.from(read!.data).toString().replaceAll(run.id, 'RUN');
}

test.each(await testQueueBackends())(
  'on $name: whole racks go first, and nothing else before they are settled',
  async (queue) => {
    const probed: string[] = [];
    const probe = (machine: string) => {
      probed.push(machine);
      return machine.endsWith('3') ? 95 : 10;
    };
    const bench = await openRacks({ probe }, { queue });
    const run = await bench.accept('rack_check', {}, { canaryPercent: 30 });
    await bench.work();
    expect(await bench.ended(run)).toMatchObject({ status: 'completed', subjectsTotal: 40, stopReason: null });
    const racks = await canaryRacks(bench, run);
    expect(racks.has('rack 0')).toBe(true);
    expect(racks.size).toBeLessThan(8);
    const inCanary = probed.map((machine) => racks.has(rackOf(machine)));
    expect(inCanary).toEqual(inCanary.toSorted((a, b) => Number(b) - Number(a)));
    expect(probed.toSorted()).toEqual(MACHINES.map(({ name }) => name));
    expect(await invariants(bench.db)).toEqual([]);
  },
);

test('rows, places, counters, envelope and walk are those of a run without a canary', async () => {
  const bench = await openRacks({ probe: (machine) => (machine.endsWith('3') ? 95 : 10) });
  const [plain, canary] = [
    await bench.accept('rack_check'),
    await bench.accept('rack_check', {}, { canaryPercent: 30 }),
  ];
  await bench.work({ concurrency: 1 });
  await Promise.all([bench.ended(plain), bench.ended(canary)]);
  expect((await canaryRacks(bench, canary)).size).toBeGreaterThan(0);
  const read = async (run: RunRecord) => {
    const { body } = await bench.answer(run);
    const text = JSON.stringify(body, (key, value) => (/ref$|^scope$/.test(key) ? 'ITS OWN' : value)).replaceAll(
      run.id,
      'RUN',
    );
    const rows = (await bench.rows(run)).map(({ walkRef, walkOffset, settledAt, ...row }) => row);
    return { answer: JSON.parse(text), rows, walk: await walkOf(bench, run, body) };
  };
  const [one, other] = await Promise.all([read(plain), read(canary)]);
  expect(one.rows.map(({ ordinal }) => ordinal)).toEqual(MACHINES.map((_, index) => index));
  expect(one.answer.result.walk.projection).toBe('control-flow');
  expect(other).toEqual(one);
});

test('a subject’s walk is where its row says, in the canary too', async () => {
  const bench = await openRacks();
  const run = await bench.accept('rack_check', {}, { canaryPercent: 30 });
  await bench.work();
  await bench.ended(run);
  for (const row of await bench.rows(run)) {
    const range = { start: row.walkOffset!, end: row.walkOffset! + row.walkLength! };
    const { data } = (await readArtifactRange(bench.store, scopeOf(run), row.walkRef!, range))!;
    const lines = Buffer.from(data).toString().trimEnd().split('\n');
    expect(new Set(lines.map((text) => JSON.parse(text).subflow.split('/')[0]))).toEqual(
      new Set([`subject~${row.ordinal}`]),
    );
  }
});

test('a canary over the error budget ends the sweep before any other target is asked', async () => {
  const probed = new Set<string>();
  const bench = await openRacks({
    probe: (machine) => {
      probed.add(machine);
      throw new Error('no route to host');
    },
  });
  // Five machines of a rack are too few for a share of a sweep, and enough for a canary.
  const run = await bench.accept('rack_check', {}, { canaryPercent: 1, errorBudget: { percent: 10 } });
  await bench.work();
  const over = await bench.ended(run);
  expect(over).toMatchObject({ status: 'completed', stopReason: 'error_budget', answerKind: 'envelope' });
  expect(over.statusSummary).toMatch(/^stopped \(error_budget\)/);
  const racks = await canaryRacks(bench, run);
  const rows = await bench.rows(run);
  expect(rows).toHaveLength(40);
  for (const row of rows) {
    const went = racks.has(row.target!);
    expect(probed.has(row.key)).toBe(went);
    expect(row).toMatchObject({ outcome: 'not_checked', reasonCode: went ? 'subject_failed' : 'error_budget' });
  }
  const { body } = await bench.answer(run);
  expect(body.result.subjects).toMatchObject({ total: 40, not_checked: 40 });
  expect(JSON.stringify(body.af_coverage.not_checked)).toContain('too many of its subjects failed');
  expect(await invariants(bench.db)).toEqual([]);
});

test('a canary within the budget lets the rest go, and is judged once', async () => {
  const bench = await openRacks({
    probe: (machine) => {
      if (machine === 'machine-000') throw new Error('no route to host');
      return 10;
    },
  });
  const run = await bench.accept('rack_check', {}, { canaryPercent: 1, errorBudget: { percent: 50 } });
  await bench.work();
  expect(await bench.ended(run)).toMatchObject({ status: 'completed', stopReason: null });
  expect((await bench.rows(run)).filter((row) => row.outcome === 'verdict')).toHaveLength(39);
  expect(await bench.count('runs', 'canary_passed_at is not null')).toBe(1);
});

test('a runbook without targets has a canary of subjects', async () => {
  const bench = await openRacks();
  const run = await bench.accept('loose_check', {}, { canaryPercent: 30 });
  await bench.work();
  await bench.ended(run);
  const first = await bench.count('subjects', 'chunk_id in (select id from muster.chunks where wave = 0)');
  expect(first).toBeGreaterThan(0);
  expect(first).toBeLessThan(40);
});

test('a cancel while the canary is under way: nothing of the rest is begun, and the answer comes', async () => {
  const held = signal();
  const probed = new Set<string>();
  const bench = await openRacks({
    probe: (machine, aborted) => {
      probed.add(machine);
      held.give();
      return untilAborted(aborted);
    },
  });
  const run = await bench.accept('rack_check', {}, { canaryPercent: 1 });
  await bench.work();
  await held.given;
  await requestCancel(bench.db, { tenant: run.tenant, runId: run.id });
  expect(await bench.ended(run)).toMatchObject({ status: 'cancelled', stopReason: 'cancelled' });
  const racks = await canaryRacks(bench, run);
  expect([...probed].filter((machine) => !racks.has(rackOf(machine)))).toEqual([]);
  expect((await bench.rows(run)).map((row) => row.reasonCode)).toEqual(Array(40).fill('cancelled'));
  await waitFor(
    () => invariants(bench.db),
    (broken) => broken.length === 0,
    { what: 'the invariants' },
  );
});
