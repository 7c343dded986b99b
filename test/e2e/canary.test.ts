/**
 * Nothing sensitive by default: secrets that are put into pods, inputs, tools' data, errors and keys are nowhere in what
 * Muster writes, while a run goes on and afterwards.
 */
import { join } from 'node:path';
import { demoPods } from '@muster/runbooks';
import { canarySecret, findCanary, findCanaryInFolder, testQueueBackends, waitFor } from '@muster/testkit';
import { Redis } from 'ioredis';
import { beforeAll, describe, expect, test } from 'vitest';
import { machineName } from './fleet-runbooks.ts';
import { NOW } from './in-process.ts';
import { type Cluster, startCluster } from './muster-cluster.ts';

const inPods = canarySecret();
const inInput = canarySecret();
const inTools = canarySecret();
const HELD = machineName(40);

/** Pods as somebody's cluster has them: with secrets where people put them. */
function podsWithSecrets(): string {
  const list = JSON.parse(demoPods(new Date(NOW))[0]!.text);
  for (const pod of list.items) {
    pod.metadata.annotations = { 'kubectl.kubernetes.io/last-applied-configuration': `{"password":"${inPods}"}` };
    for (const container of pod.spec.containers) {
      container.env = [{ name: 'DATABASE_PASSWORD', value: inPods }];
      container.args = [`--token=${inPods}`];
      container.command = ['/bin/run', inPods];
    }
  }
  return JSON.stringify(list);
}

/** Every row of every table of a database, with the table in front. */
async function dumpTables(cluster: Cluster): Promise<string[]> {
  const { rows } = await cluster.db.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
      where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  expect(rows.map(({ name }) => name)).toContain('muster.runs');
  const dumped: string[] = [];
  for (const { name } of rows) {
    const table = await cluster.db.query<{ row: string }>(`select t::text as row from ${name} t`);
    dumped.push(...table.rows.map(({ row }) => `${name} ${row}`));
  }
  return dumped;
}

/** Everything that a Redis database holds, as text. */
async function dumpRedis(url: string): Promise<string[]> {
  const redis = new Redis(url);
  const readers: Record<string, (key: string) => Promise<unknown>> = {
    string: (key) => redis.get(key),
    hash: (key) => redis.hgetall(key),
    list: (key) => redis.lrange(key, 0, -1),
    set: (key) => redis.smembers(key),
    zset: (key) => redis.zrange(key, '0', '-1'),
    stream: (key) => redis.xrange(key, '-', '+'),
  };
  const keys = await redis.keys('*');
  const dumped = await Promise.all(
    keys.map(async (key) => `${key} ${JSON.stringify(await readers[await redis.type(key)]?.(key))}`),
  );
  redis.disconnect();
  return dumped;
}

describe.each(await testQueueBackends())('on $name', (queue) => {
  let cluster: Cluster;
  const said: string[] = [];
  let during: string[];
  let after: string[];

  const dump = async () => [
    ...(await dumpTables(cluster)),
    ...(queue.name === 'redis' ? await dumpRedis(queue.url) : []),
  ];

  beforeAll(async () => {
    cluster = await startCluster(queue);
    const toldTools = { MUSTER_TEST_NOTE: inTools };
    const first = await cluster.startWorker({ ...toldTools, MUSTER_TEST_HOLD: HELD });
    const ref = await cluster.upload('pods.json', podsWithSecrets());
    const runs = [
      await cluster.startRun('kubernetes_workloads', { files: [{ ref, name: 'pods.json' }] }),
      await cluster.startRun('every_outcome', { machines: 60, note: inInput }),
      await cluster.startRun('every_outcome', { machines: 59 }),
      await cluster.startRun('machine_list', { machines: 5, note: inInput }),
    ];
    await cluster.told(HELD);
    during = await dump();
    await first.kill('SIGTERM');
    await cluster.startWorker(toldTools);
    for (const run of runs) {
      const ended = await cluster.ended(run);
      said.push(JSON.stringify([ended, await cluster.rows(run), await cluster.ask('GET', `/v1/runs/${run}/answer`)]));
    }
    const uploads = async () =>
      (await cluster.db.query(`select ref from muster.artifacts where purpose = 'upload'`)).rowCount;
    await waitFor(uploads, (left) => left === 0, { what: 'the end of the uploads' });
    after = await dump();
    const refused = async (...start: Parameters<Cluster['startRun']>) =>
      cluster.startRun(...start).catch((error: Error) => error.message);
    said.push(await refused('every_outcome', { machines: inInput }));
    said.push(await refused('every_outcome', { machines: 1, note: { inInput } }));
    said.push(await refused('every_outcome', { machines: 1 }, { now: inInput }));
    // A name that does not exist is told back to the one who asked, and to nobody else.
    await refused('every_outcome', { machines: 1, [inInput]: 1 });
    await refused(`no_such_${inInput}`, {});
  });

  test('what is in a pod beside what is judged is in no row and no job, while it runs and afterwards', () => {
    expect([...during, ...after].flatMap((row) => findCanary(inPods, row))).toEqual([]);
  });

  test('what tools gave to a subject is in no row and no job', () => {
    expect([...during, ...after].flatMap((row) => findCanary(inTools, row))).toEqual([]);
    expect(during.some((row) => row.startsWith('muster.chunks') && row.includes('\\x01'))).toBe(true);
  });

  test('an input is kept as it was given, and nowhere else', () => {
    const holding = [...during, ...after].filter((row) => findCanary(inInput, row).length > 0);
    expect(new Set(holding.map((row) => row.split(' ')[0]))).toEqual(new Set(['muster.inputs']));
  });

  test('an API key is in no row', () => {
    expect([...during, ...after].flatMap((row) => findCanary(cluster.key, row))).toEqual([]);
  });

  test('no artifact that is left holds any of them', async () => {
    for (const secret of [inPods, inTools, inInput, cluster.key]) {
      expect(await findCanaryInFolder(secret, join(cluster.folder, 'artifacts'))).toEqual([]);
    }
  });

  test('no log line of any process holds any of them, at the finest level', () => {
    const lines = cluster.processes.flatMap((service) => [...service.stdout, ...service.stderr]);
    expect(lines.length).toBeGreaterThan(50);
    for (const secret of [inPods, inTools, inInput, cluster.key, String(cluster.env.MUSTER_SECRET_KEY)]) {
      expect(lines.flatMap((line) => findCanary(secret, line))).toEqual([]);
    }
  });

  test('no answer, row or refusal that was given out holds any of them', () => {
    expect(said.filter((text) => /"code":"(input_invalid|invalid_request)"/.test(text))).toHaveLength(3);
    for (const secret of [inPods, inTools, inInput, cluster.key]) {
      expect(said.flatMap((text) => findCanary(secret, text))).toEqual([]);
    }
  });

  test('a worker’s lines say which run, tenant, attempt and chunk they are about', () => {
    const lines = cluster.processes.flatMap((service) => service.stderr).map((line) => JSON.parse(line));
    const assessed = lines.find((line) => line.msg === 'assess completed');
    expect(assessed).toMatchObject({
      service: 'worker',
      run: expect.stringMatching(/^[0-9a-f-]{36}$/),
      chunk: expect.stringMatching(/^[0-9a-f-]{36}$/),
      tenant: 'default',
      attempt: expect.any(Number),
    });
    for (const line of lines.filter((line) => line.job !== undefined && line.level !== 'fatal')) {
      expect(line).toMatchObject({ tenant: 'default', attempt: expect.any(Number), run: expect.any(String) });
    }
  });
});
