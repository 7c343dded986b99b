/** Artifacts and uploads go when nobody can use them any more: the object first, its row last. */
import { newArtifactRef } from '@muster/artifacts';
import { scopeOf } from '@muster/host';
import { claimRun, type RunRecord, stageArtifact } from '@muster/results';
import { demoPods, shippedRunbooks } from '@muster/runbooks';
import { expect, test } from 'vitest';
import { artifactSweeper } from '../src/maintenance/artifact-sweeper.ts';
import { pruner } from '../src/maintenance/pruner.ts';
import { benchTools } from './bench-runbooks.ts';
import { type Bench, openBench, TENANT } from './worker-bench.ts';

const SCOPE = scopeOf({ tenant: TENANT });
const PODS = demoPods(new Date('2026-05-05T05:05:05Z'))[0]!;

const sweep = (bench: Bench) => artifactSweeper(bench.db, bench.store, () => new Date()).runOnce();

async function podRun(bench: Bench, ref: string): Promise<RunRecord> {
  return await bench.accept('kubernetes_workloads', { files: [{ ref, name: PODS.name }] }, { uploads: [ref] });
}

/** Stages and puts an artifact of the run's attempt at this fence, as a worker that dies right afterwards leaves it. */
async function leaveBehind(bench: Bench, run: RunRecord, fence: number): Promise<string> {
  const ref = newArtifactRef();
  await stageArtifact(bench.db, {
    ref,
    tenant: TENANT,
    sessionId: run.sessionId,
    runId: run.id,
    fence,
    purpose: 'walk',
    owner: 'a worker that died',
    kind: 'recording/chart-walk',
    mediaType: 'application/json',
    storeConversation: SCOPE.conversationId,
  });
  await bench.store.put(SCOPE, { ref, kind: 'recording/chart-walk', mediaType: 'application/json', data: '[]' });
  await bench.db.query(`update muster.artifacts set created_at = now() - interval '1 hour' where ref = $1`, [ref]);
  return ref;
}

test('an uploaded input is gone once its run is sealed, object and row', async () => {
  const bench = await openBench({ runbooks: shippedRunbooks });
  const ref = await bench.upload(PODS.name, PODS.text);
  const run = await podRun(bench, ref);
  expect(await sweep(bench)).toEqual({ swept: 0, stuck: 0 });
  const worker = await bench.work();
  await bench.ended(run);
  await worker.stop(1000);
  await sweep(bench);
  expect(await bench.store.head(SCOPE, ref)).toBeNull();
  expect(await bench.count('artifacts', `purpose = 'upload'`)).toBe(0);
  expect(await bench.rows(run)).not.toHaveLength(0);
});

test('an upload stays until the last run that uses it is sealed', async () => {
  const bench = await openBench({ runbooks: shippedRunbooks });
  const ref = await bench.upload(PODS.name, PODS.text);
  const first = await podRun(bench, ref);
  const second = await podRun(bench, ref);
  // The second is held back: it looks as if somebody had taken it a moment ago, from a queue that has lost nothing.
  const mark = bench.backend.openMark();
  await mark.set();
  await mark.close();
  await bench.db.query('update muster.runs set dispatched_at = now() where id = $1', [second.id]);
  const worker = await bench.work();
  await bench.ended(first);
  await worker.stop(1000);
  await sweep(bench);
  expect(await bench.store.head(SCOPE, ref)).not.toBeNull();
  await bench.db.query('update muster.runs set dispatched_at = null where id = $1', [second.id]);
  const other = await bench.work();
  expect(await bench.ended(second)).toMatchObject({ status: 'completed' });
  await other.stop(1000);
  await sweep(bench);
  expect(await bench.store.head(SCOPE, ref)).toBeNull();
});

test('what a dead attempt staged is swept, and what a living one staged is not, however old', async () => {
  const bench = await openBench({ tools: benchTools() });
  const run = await bench.accept('machine_check');
  const dead = await claimRun(bench.db, { runId: run.id, phase: 'plan', dispatchNo: 1 });
  const left = await leaveBehind(bench, run, dead!.fence);
  const living = await claimRun(bench.db, { runId: run.id, phase: 'plan', dispatchNo: 1 });
  const kept = await leaveBehind(bench, run, living!.fence);
  expect(await sweep(bench)).toEqual({ swept: 1, stuck: 0 });
  expect(await bench.store.head(SCOPE, left)).toBeNull();
  expect(await bench.store.head(SCOPE, kept)).not.toBeNull();
  expect(await bench.count('artifacts')).toBe(1);
});

test('a finished run has no staged artifact, and every committed one has its object', async () => {
  const bench = await openBench({ tools: benchTools() });
  const run = await bench.accept('machine_check');
  await bench.work();
  await bench.ended(run);
  const { rows } = await bench.db.query<{ ref: string; state: string }>('select ref, state from muster.artifacts');
  expect(new Set(rows.map((row) => row.state))).toEqual(new Set(['committed']));
  for (const { ref } of rows) expect(await bench.store.head(SCOPE, ref)).not.toBeNull();
});

test('an object that cannot be deleted keeps its row, and holds up nobody else’s', async () => {
  const bench = await openBench({ tools: benchTools() });
  const run = await bench.accept('machine_check');
  const { fence } = (await claimRun(bench.db, { runId: run.id, phase: 'plan', dispatchNo: 1 }))!;
  const stuck = await leaveBehind(bench, run, fence);
  const other = await leaveBehind(bench, run, fence);
  await claimRun(bench.db, { runId: run.id, phase: 'plan', dispatchNo: 1 });
  const store = Object.create(bench.store, {
    delete: {
      value: async (...args: Parameters<typeof bench.store.delete>) => {
        if (args[1] === stuck) throw Object.assign(new Error('no'), { code: 'artifact_store_unavailable' });
        return await bench.store.delete(...args);
      },
    },
  });
  expect(await artifactSweeper(bench.db, store, () => new Date()).runOnce()).toEqual({ swept: 1, stuck: 1 });
  expect(await bench.store.head(SCOPE, other)).toBeNull();
  expect(await bench.count('artifacts', `state = 'deleting'`)).toBe(1);
  expect(await sweep(bench)).toEqual({ swept: 1, stuck: 0 });
  expect(await bench.store.head(SCOPE, stuck)).toBeNull();
});

test('an old run goes with its rows and artifacts, and the newest sweep of its scope stays whole', async () => {
  const bench = await openBench({ tools: benchTools() });
  const worker = await bench.work();
  const older = await bench.ended(await bench.accept('machine_check', {}, { scopeKey: 'north' }));
  const newest = await bench.ended(await bench.accept('machine_check', {}, { scopeKey: 'north' }));
  await worker.stop(1000);
  const [kept, gone] = [await artifactsOf(bench, newest), await artifactsOf(bench, older)];
  expect(gone.length).toBeGreaterThan(0);
  // A year later, by the pruner's clock.
  const later = () => new Date(Date.now() + 365 * 86_400_000);
  const prune = () => pruner(bench.db, 90, later).runOnce();
  expect((await prune()).forgotten).toBe(0);
  expect(await sweep(bench)).toEqual({ swept: gone.length, stuck: 0 });
  expect((await prune()).forgotten).toBe(1);
  expect(await bench.count('runs')).toBe(1);
  expect(await bench.count('subjects', `run_id = '${older.id}'`)).toBe(0);
  for (const ref of gone) expect(await bench.store.head(SCOPE, ref)).toBeNull();
  for (const ref of kept) expect(await bench.store.head(SCOPE, ref)).not.toBeNull();
  expect(await bench.rows(newest)).not.toHaveLength(0);
});

async function artifactsOf(bench: Bench, run: RunRecord): Promise<string[]> {
  const { rows } = await bench.db.query<{ ref: string }>('select ref from muster.artifacts where run_id = $1', [
    run.id,
  ]);
  return rows.map(({ ref }) => ref);
}
