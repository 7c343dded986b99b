/**
 * Runs that ask a person, over processes that die and are replaced: what was done stays done, the answer counts once, and
 * what a chart held while it waited comes out nowhere.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SecretBox } from '@muster/host';
import { heartbeatWorker, invariants } from '@muster/results';
import { canarySecret, findCanary, findCanaryInFolder, testQueueBackends, waitFor } from '@muster/testkit';
import { Redis } from 'ioredis';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Body, type Cluster, startCluster } from './muster-cluster.ts';

const MUSTER_RUNBOOKS = fileURLToPath(new URL('./asking-runbooks.ts', import.meta.url));
const YES = { approved: true };
const backends = await testQueueBackends();

const question = (cluster: Cluster, runId: string): Promise<Body> =>
  waitFor(() => cluster.ask('GET', `/v1/runs/${runId}/interruption`), Boolean, { what: 'the question' });

const resume = (cluster: Cluster, runId: string, answer: object): Promise<Body> =>
  cluster.ask('POST', `/v1/runs/${runId}/resume`, { resume: answer });

/** What the tools were asked for a run, in all processes. */
async function callsOf(cluster: Cluster, runId: string): Promise<string[]> {
  const file = join(cluster.folder, 'signals', `calls of ${runId}`);
  return existsSync(file) ? (await readFile(file, 'utf8')).trim().split('\n') : [];
}

async function rowsOf<Row extends object>(cluster: Cluster, sql: string, ...values: unknown[]): Promise<Row[]> {
  return (await cluster.db.query<Row>(sql, values)).rows;
}

async function artifact(cluster: Cluster, ref: string): Promise<Body> {
  const response = await fetch(`${cluster.address}/v1/artifacts/${ref}`, {
    headers: { authorization: `Bearer ${cluster.key}` },
  });
  expect(response.status).toBe(200);
  return response.json();
}

/** The walks of a run with the process that stored each, in their order. */
async function walksOf(cluster: Cluster, runId: string): Promise<{ ref: string; pid: number }[]> {
  const rows = await rowsOf<{ ref: string; owner: string }>(
    cluster,
    `select ref, owner from muster.artifacts where run_id = $1 and state = 'committed' and kind = 'recording/chart-walk'
      order by created_at`,
    runId,
  );
  return rows.map(({ ref, owner }) => ({ ref, pid: Number(owner.split('-').at(-2)) }));
}

/** Every row of every table, and every value of a Redis, as text. */
async function dumpStores(cluster: Cluster, redisUrl: string | undefined): Promise<string[]> {
  const tables = await rowsOf<{ name: string }>(
    cluster,
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
      where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  const dumped: string[] = [];
  for (const { name } of tables) {
    const rows = await rowsOf<{ row: string }>(cluster, `select t::text as row from ${name} t`);
    dumped.push(...rows.map(({ row }) => `${name} ${row}`));
  }
  if (redisUrl === undefined) return dumped;
  const redis = new Redis(redisUrl);
  for (const key of await redis.keys('*')) {
    const packed = await redis.dumpBuffer(key).catch(() => null);
    const fields = (await redis.type(key)) === 'hash' ? JSON.stringify(await redis.hgetall(key)) : '';
    dumped.push(`${key} ${packed?.toString('latin1') ?? ''} ${fields}`);
  }
  redis.disconnect();
  return dumped;
}

/** One answer, one end, and nothing that breaks what must hold. */
async function expectOneEnd(cluster: Cluster, runId: string): Promise<void> {
  expect(await rowsOf(cluster, 'select run_id from muster.answers where run_id = $1', runId)).toHaveLength(1);
  const events = await cluster.ask('GET', `/v1/runs/${runId}/history`);
  const kinds: string[] = events.entries.map((event: Body) => event.type ?? event.kind);
  for (const kind of ['run_started', 'run_interrupted', 'run_resumed', 'run_completed']) {
    expect(kinds.filter((one) => one === kind)).toHaveLength(1);
  }
  const broken = await invariants(cluster.db);
  // What an attempt that was killed had staged goes with the sweeper, later.
  expect(broken.filter(({ what }) => !what.endsWith('is staged'))).toEqual([]);
}

describe.each(backends)('on $name', { timeout: 120_000 }, (queue) => {
  const secret = canarySecret();
  let cluster: Cluster;
  /** The same installation, with another build. */
  let next: Cluster;
  beforeAll(async () => {
    cluster = await startCluster(queue, { MUSTER_RUNBOOKS, MUSTER_TEST_NOTE: secret, MUSTER_BUILD_ID: 'old' });
    next = await startCluster(queue, { ...cluster.env, MUSTER_BUILD_ID: 'new' });
  });

  test('after the worker that asked was killed, another goes on: one answer of both legs, and the secret is nowhere', async () => {
    const first = await cluster.startWorker();
    const run = await cluster.startRun('restart_hosts', { cluster: 'north' });
    expect(await question(cluster, run)).toMatchObject({
      number: 1,
      question: 'Restart 3 hosts?',
      details: { hosts: ['a', 'b', 'c'], token: 'REDACTED' },
    });
    expect(await first.kill('SIGKILL')).toMatchObject({ signal: 'SIGKILL' });
    const [waiting] = await rowsOf<{ row: string; checkpoint: Buffer }>(
      cluster,
      'select t::text as row, checkpoint from muster.interruptions t where run_id = $1',
      run,
    );
    // It holds what the chart held: something is there that could come out.
    const box = new SecretBox(Buffer.from(String(cluster.env.MUSTER_SECRET_KEY), 'base64'));
    expect(box.open(waiting!.checkpoint, `${run}/checkpoint`).toString()).toContain(secret);
    expect(findCanary(secret, waiting!.row)).toEqual([]);
    const during = await dumpStores(cluster, queue.name === 'redis' ? queue.url : undefined);

    const heir = await cluster.startWorker();
    await resume(cluster, run, YES);
    expect(await cluster.ended(run)).toMatchObject({ run_status: 'completed', answer_kind: 'envelope' });
    expect(await callsOf(cluster, run)).toEqual(['read_hosts', 'restart north with the token']);
    await expectOneEnd(cluster, run);

    const envelope = await cluster.ask('GET', `/v1/runs/${run}/envelope`);
    const ledger = JSON.stringify(envelope.af_coverage);
    for (const entry of ['the inventory', 'lent hosts', 'the restart', 'if they came up'])
      expect(ledger).toContain(entry);
    expect(envelope.result.verdicts).toHaveLength(3);
    const [before, whole] = await walksOf(cluster, run);
    expect([before!.pid, whole!.pid]).toEqual([first.pid, heir.pid]);
    const stages = async (ref: string) =>
      (await artifact(cluster, ref)).filter(({ type }: Body) => type === 'stage').map(({ stage }: Body) => stage);
    expect(await stages(before!.ref)).toEqual(['Read', 'Judge', 'restart']);
    expect(await stages(whole!.ref)).toEqual(['Read', 'Judge', 'restart', 'Ask', 'Act']);
    const walk: Body[] = await artifact(cluster, whole!.ref);
    const types = walk.map(({ type }) => type);
    expect(types.indexOf('pause')).toBeLessThan(types.indexOf('resume'));
    expect(walk.map(({ step }) => step)).toEqual(walk.map((_, index) => index));

    const shown = [envelope, await cluster.rows(run), walk, await cluster.ask('GET', `/v1/runs/${run}/history`)];
    const after = await dumpStores(cluster, queue.name === 'redis' ? queue.url : undefined);
    const lines = cluster.processes.flatMap(({ stdout, stderr }) => [...stdout, ...stderr]);
    expect([...shown, ...during, ...after, ...lines].flatMap((text) => findCanary(secret, text))).toEqual([]);
    expect(await findCanaryInFolder(secret, join(cluster.folder, 'artifacts'))).toEqual([]);
    expect(after.filter((row) => row.startsWith('muster.interruptions')).join()).not.toContain('\\x01');
    await heir.kill('SIGKILL');
  });

  test('killed while it goes on: another goes on from the same question, and one of two answers at once counts', async () => {
    const doomed = await cluster.startWorker({ MUSTER_TEST_HOLD: 'act' });
    const run = await cluster.startRun('restart_hosts', { cluster: 'south' });
    await question(cluster, run);
    const given = await Promise.allSettled([resume(cluster, run, YES), resume(cluster, run, YES)]);
    const refused = given.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
    expect(refused).toHaveLength(1);
    expect(String(refused[0]!.reason)).toContain('not_interrupted');
    await cluster.told('act');
    expect(await doomed.kill('SIGKILL')).toMatchObject({ signal: 'SIGKILL' });
    const heir = await cluster.startWorker();
    expect(await cluster.ended(run)).toMatchObject({ run_status: 'completed', answer_kind: 'envelope' });
    expect(await callsOf(cluster, run)).toEqual(['read_hosts', 'restart south with the token']);
    expect((await cluster.rows(run)).map(({ subject }) => subject)).toEqual(['a', 'b', 'c']);
    await expectOneEnd(cluster, run);
    await heir.kill('SIGKILL');
  });

  test('a fleet whose planner was killed waits for its answer all the same; a worker killed after it costs nothing', async () => {
    const planner = await cluster.startWorker();
    const run = await cluster.startRun('asked_fleet', { cluster: 'east' });
    expect(await question(cluster, run)).toMatchObject({ source: 'approval', question: 'Look at 3 hosts?' });
    await planner.kill('SIGKILL');
    const doomed = await cluster.startWorker({ MUSTER_TEST_HOLD: 'assess' });
    await resume(cluster, run, YES);
    await cluster.told('assess');
    await doomed.kill('SIGKILL');
    const heir = await cluster.startWorker();
    expect(await cluster.ended(run)).toMatchObject({ run_status: 'completed', answer_kind: 'envelope' });
    expect(await callsOf(cluster, run)).toEqual(['read_hosts', 'look', 'look', 'look']);
    expect((await cluster.rows(run)).map(({ verdict }) => verdict)).toEqual(['restart', 'restart', 'restart']);
    await expectOneEnd(cluster, run);

    const refused = await cluster.startRun('asked_fleet', { cluster: 'west' });
    await question(cluster, refused);
    await resume(cluster, refused, { approved: false, reason: 'not on a Friday' });
    expect(await cluster.ended(refused)).toMatchObject({ run_status: 'cancelled', answer_kind: 'envelope' });
    expect((await cluster.rows(refused)).map(({ reason_code }) => reason_code)).toEqual(Array(3).fill('refused'));
    expect(await callsOf(cluster, refused)).toEqual(['read_hosts']);
    await heir.kill('SIGKILL');
  });

  test('a checkpoint that was sealed with another key fails the run by name, with an answer', async () => {
    const first = await cluster.startWorker();
    const run = await cluster.startRun('restart_hosts', { cluster: 'north' });
    await question(cluster, run);
    await first.kill('SIGTERM');
    const other = await cluster.startWorker({ MUSTER_SECRET_KEY: randomBytes(32).toString('base64') });
    await resume(cluster, run, YES);
    expect(await cluster.ended(run)).toMatchObject({ run_status: 'failed', answer_kind: 'failure' });
    expect(await cluster.ask('GET', `/v1/runs/${run}/answer`)).toMatchObject({
      kind: 'failure',
      body: { code: 'checkpoint_invalid', phase: 'procedure' },
    });
    expect(await callsOf(cluster, run)).toEqual(['read_hosts']);
    expect(await invariants(cluster.db)).toEqual([]);
    await other.kill('SIGKILL');
  });

  test('across a redeploy it waits for a worker of its own definition, and goes on there', async () => {
    const asking = await cluster.startWorker();
    const run = await cluster.startRun('restart_hosts', { cluster: 'north' });
    const { definition_digest: digest } = await question(cluster, run);
    await asking.kill('SIGTERM');
    // As if those that were killed before had been silent for long enough to be dead.
    await cluster.db.query(`update muster.workers set seen_at = seen_at - interval '1 minute'`);
    const coming = await next.startWorker();
    // Nobody could go on with an answer, so none is taken, and the question stands.
    await expect(resume(next, run, YES)).rejects.toThrow('definition_not_offered');
    expect(await question(next, run)).toMatchObject({ number: 1 });
    // A worker of the old build lives as far as anybody knows: the answer is taken, and the job comes to the new one.
    await heartbeatWorker(cluster.db, { id: 'elsewhere', digests: [digest] });
    await resume(next, run, YES);
    await coming.ready(/procedure snoozed/);
    expect(await next.ask('GET', `/v1/runs/${run}`)).toMatchObject({ run_status: 'running' });
    const fresh = await next.startRun('restart_hosts', { cluster: 'fresh' });
    expect((await question(next, fresh)).definition_digest).not.toBe(digest);
    expect(await callsOf(cluster, run)).toEqual(['read_hosts']);
    const back = await cluster.startWorker();
    expect(await next.ended(run)).toMatchObject({ run_status: 'completed', answer_kind: 'envelope' });
    expect((await walksOf(cluster, run)).map(({ pid }) => pid)).toEqual([asking.pid, back.pid]);
    await resume(next, fresh, YES);
    expect(await next.ended(fresh)).toMatchObject({ run_status: 'completed' });
    for (const { pid } of await walksOf(cluster, fresh)) expect(pid).toBe(coming.pid);
    await Promise.all([coming.kill('SIGKILL'), back.kill('SIGKILL')]);
  });
});
