/**
 * Redeploys: workers of an old and of a new build side by side. Each run ends on the definition that it was accepted with,
 * whoever stops hands its work back, and nothing of that counts as a failure.
 */
import { severableLink, testQueueBackends } from '@muster/testkit';
import { beforeAll, describe, expect, test } from 'vitest';
import { machineName, runbooks, tools } from './fleet-runbooks.ts';
import { type Reference, runHere, withoutWalk } from './in-process.ts';
import { type Cluster, startCluster } from './muster-cluster.ts';

const MACHINES = { machines: 60 };
const backends = await testQueueBackends();

let here: Reference;
beforeAll(async () => {
  here = await runHere(runbooks[0]!, tools, MACHINES);
});

async function rowsOf<Row extends object>(cluster: Cluster, sql: string, ...values: unknown[]): Promise<Row[]> {
  return (await cluster.db.query<Row>(sql, values)).rows;
}

const digestOf = async (cluster: Cluster, runId: string) =>
  (
    await rowsOf<{ digest: string }>(
      cluster,
      'select definition_digest as digest from muster.runs where id = $1',
      runId,
    )
  )[0]!.digest;

/** The processes that stored artifacts of a run: whoever assessed it. */
const workersOf = async (cluster: Cluster, runId: string) =>
  (
    await rowsOf<{ pid: number }>(
      cluster,
      `select distinct split_part(reverse(owner), '-', 2) as pid from muster.artifacts where run_id = $1`,
      runId,
    )
  ).map(({ pid }) => Number([...String(pid)].reverse().join('')));

async function expectWhole(cluster: Cluster, runId: string): Promise<void> {
  expect(await cluster.ended(runId)).toMatchObject({ run_status: 'completed', answer_kind: 'envelope' });
  expect((await cluster.rows(runId)).map(withoutWalk)).toEqual(here.rows);
  const chunks = await rowsOf<{ starts: number }>(cluster, 'select starts from muster.chunks where run_id = $1', runId);
  expect(new Set(chunks.map(({ starts }) => starts))).toEqual(new Set([1]));
}

describe.each(backends)('on $name', (queue) => {
  let old: Cluster;
  let next: Cluster;
  beforeAll(async () => {
    old = await startCluster(queue, { MUSTER_BUILD_ID: 'old', MUSTER_WITHDRAW_AFTER_MS: '2000' });
    next = await startCluster(queue, { ...old.env, MUSTER_BUILD_ID: 'new' });
  });

  test('runs accepted before and during a redeploy all end, each on its own definition', {
    timeout: 120_000,
  }, async () => {
    const leaving = await old.startWorker({ MUSTER_TEST_HOLD: 'plan', MUSTER_SHUTDOWN_MS: '8000' });
    const before = await old.startRun('every_outcome', MACHINES);
    await old.told('plan');
    const coming = await next.startWorker();
    const staying = await old.startWorker();
    const [late, fresh] = [
      await old.startRun('every_outcome', MACHINES),
      await next.startRun('every_outcome', MACHINES),
    ];
    expect(await leaving.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    for (const run of [before, late, fresh]) await expectWhole(old, run);
    const [a, b, c] = await Promise.all([before, late, fresh].map((run) => digestOf(old, run)));
    expect([a === b, a === c]).toEqual([true, false]);
    expect(await workersOf(old, fresh)).toEqual([coming.pid]);
    for (const run of [before, late]) expect(await workersOf(old, run)).not.toContain(coming.pid);
    await Promise.all([coming.kill('SIGTERM'), staying.kill('SIGTERM')]);
  });

  test('a run whose build does not come back is ended by the new workers with what it had', {
    timeout: 120_000,
  }, async () => {
    const place = machineName(41);
    const leaving = await old.startWorker({ MUSTER_TEST_HOLD: place });
    const run = await old.startRun('every_outcome', { machines: 500 });
    await old.told(place);
    expect(await leaving.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    const coming = await next.startWorker();
    expect(await next.ended(run)).toMatchObject({ run_status: 'completed', answer_kind: 'envelope' });
    const rows = await next.rows(run);
    expect(rows.length).toBeGreaterThan(450);
    const withdrawn = rows.filter((row) => row.reason_code === 'withdrawn');
    expect(withdrawn.length).toBeGreaterThan(0);
    expect(withdrawn.length).toBeLessThan(rows.length);
    const { af_coverage } = await next.ask('GET', `/v1/runs/${run}/envelope`);
    expect(JSON.stringify(af_coverage.not_checked)).toContain('definition withdrawn');
    await coming.kill('SIGTERM');
  });
});

describe.each(backends.filter(({ name }) => name === 'redis'))('with $name gone', (queue) => {
  const place = machineName(42);
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster(queue);
  });

  test('a worker that is told to stop ends in order, in its time, and its work goes on elsewhere', async () => {
    const link = await severableLink(queue.url);
    const leaving = await cluster.startWorker({
      REDIS_URL: link.url,
      MUSTER_TEST_HOLD: place,
      MUSTER_SHUTDOWN_MS: '6000',
    });
    const run = await cluster.startRun('every_outcome', MACHINES);
    await cluster.told(place);
    await link.cut();
    // Were it not through in the time that it is given, it would end with another code.
    expect(await leaving.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    const open = await rowsOf<{ starts: number }>(
      cluster,
      `select starts from muster.chunks where run_id = $1 and state = 'open'`,
      run,
    );
    expect(open.length).toBeGreaterThan(0);
    expect(new Set(open.map(({ starts }) => starts))).toEqual(new Set([0]));
    const heir = await cluster.startWorker();
    await expectWhole(cluster, run);
    await heir.kill('SIGKILL');
  });
});
