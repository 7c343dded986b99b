/**
 * A Muster of one test's own: a fresh database, a queue on either backend, the API and as many workers as the test wants,
 * each a real process. Everything goes when the test file ends.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Database, openDatabase } from '@muster/results';
import { type SpawnedService, spawnService, type TestQueueBackend, testDatabase, waitFor } from '@muster/testkit';
import { afterAll } from 'vitest';

const API_MAIN = fileURLToPath(import.meta.resolve('@muster/api/main'));
const WORKER_MAIN = fileURLToPath(import.meta.resolve('@muster/worker/main'));
const RUNBOOKS = fileURLToPath(new URL('./fleet-runbooks.ts', import.meta.url));
const FINAL = ['completed', 'cancelled', 'failed'];

type Env = Readonly<Record<string, string | undefined>>;

// biome-ignore lint/suspicious/noExplicitAny: bodies of many shapes are looked into by tests
export type Body = any;

export interface Cluster {
  readonly db: Database;
  /** Artifacts, keys and signals lie below it. */
  readonly folder: string;
  /** What every process of it is told. */
  readonly env: Env;
  /** The admin's key. */
  readonly key: string;
  /** Where its API answers. */
  readonly address: string;
  /** All that was ever started, the dead included: for their logs. */
  readonly processes: readonly SpawnedService[];
  startWorker(env?: Env): Promise<SpawnedService>;
  ask(method: string, path: string, body?: unknown): Promise<Body>;
  upload(name: string, text: string): Promise<string>;
  startRun(runbook: string, input: object, over?: object): Promise<string>;
  /** Waits for the end of a run. */
  ended(runId: string): Promise<Body>;
  rows(runId: string): Promise<Body[]>;
  /** Waits until a stage of the test's runbooks says so (see fleet-runbooks.ts). */
  told(signal: string): Promise<void>;
}

export async function startCluster(queue: TestQueueBackend, over: Env = {}): Promise<Cluster> {
  const database = await testDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'muster-e2e-'));
  const signals = join(folder, 'signals');
  await mkdir(signals);
  const env: Env = {
    DATABASE_URL: database.url,
    REDIS_URL: queue.name === 'redis' ? queue.url : undefined,
    S3_BUCKET: undefined,
    MUSTER_QUEUE_PREFIX: `t${randomBytes(6).toString('hex')}`,
    MUSTER_DATA_DIR: folder,
    MUSTER_BOOTSTRAP_KEY_FILE: join(folder, 'admin.key'),
    MUSTER_SECRET_KEY: randomBytes(32).toString('base64'),
    MUSTER_RUNBOOKS: RUNBOOKS,
    MUSTER_PORT: '0',
    MUSTER_LOG_LEVEL: 'trace',
    MUSTER_LOG_FORMAT: 'json',
    MUSTER_LOCK_MS: '2000',
    MUSTER_STALL_CHECK_MS: '500',
    MUSTER_TEST_SIGNALS: signals,
    ...over,
  };
  const processes: SpawnedService[] = [];
  const start = (file: string, more: Env = {}) => {
    const service = spawnService(file, { env: { ...env, ...more } });
    processes.push(service);
    return service;
  };
  const isReady = (message: unknown) => (message as { type?: string }).type === 'ready';
  const api = start(API_MAIN);
  const { address } = (await api.ready(isReady)) as { address: string };
  const key = (await readFile(env.MUSTER_BOOTSTRAP_KEY_FILE as string, 'utf8')).trim();
  const db = openDatabase({ url: database.url, maxConnections: 4 });
  afterAll(async () => {
    await Promise.all(processes.map((service) => service.kill('SIGKILL')));
    await db.close();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  const send = async (method: string, path: string, init: RequestInit) => {
    const headers = { authorization: `Bearer ${key}`, ...(init.headers as Record<string, string>) };
    const response = await fetch(`${address}${path}`, { ...init, method, headers });
    const body: Body = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(body)}`);
    return body;
  };
  const ask: Cluster['ask'] = (method, path, body) =>
    body === undefined
      ? send(method, path, {})
      : send(method, path, { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });

  return {
    db,
    folder,
    env,
    key,
    address,
    processes,
    async startWorker(more) {
      const worker = start(WORKER_MAIN, more);
      await worker.ready(isReady);
      return worker;
    },
    ask,
    upload: async (name, text) =>
      (await send('POST', `/v1/uploads?name=${encodeURIComponent(name)}`, { body: text })).ref,
    startRun: async (runbook, input, more = {}) =>
      (await ask('POST', '/v1/runs', { runbook, input, now: '2026-05-05T05:05:05Z', ...more })).run_id,
    ended: (runId) =>
      waitFor(
        () => ask('GET', `/v1/runs/${runId}`),
        (run) => FINAL.includes(run.run_status),
        { what: 'the end of the run' },
      ),
    async rows(runId) {
      const rows: Body[] = [];
      for (let after = ''; ; ) {
        const page = await ask('GET', `/v1/runs/${runId}/rows?include=evidence&limit=1000${after}`);
        rows.push(...page.rows);
        if (page.next_after === undefined) return rows;
        after = `&after=${encodeURIComponent(page.next_after)}`;
      }
    },
    told: async (signal) => void (await waitFor(() => existsSync(join(signals, signal)), Boolean, { what: signal })),
  };
}
