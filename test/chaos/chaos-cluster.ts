/**
 * A Muster for breaking: stores of its own that can be taken away, the API, and as many workers as a test starts, each a real
 * process. One serves the tests of a file on one backend; what it has accepted must come to rest after each of them.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ArtifactStore } from '@muster/artifacts';
import { openArtifactStore, readConfig } from '@muster/host';
import { openQueueBackend, QUEUE_NAMES, type QueueBackend } from '@muster/queue';
import { type Database, openDatabase } from '@muster/results';
import { type SpawnedService, spawnService, waitFor } from '@muster/testkit';
import type { Crash } from './fault.ts';
import type { BackendName } from './plan.ts';
import type { BreakableStore } from './stores/breakable-store.ts';
import { type FaultyS3, startFaultyS3 } from './stores/faulty-s3.ts';
import { type OwnPostgres, startOwnPostgres } from './stores/own-postgres.ts';
import { startOwnRedis } from './stores/own-redis.ts';

const API_MAIN = fileURLToPath(import.meta.resolve('@muster/api/main'));
const WORKER_MAIN = fileURLToPath(import.meta.resolve('@muster/worker/main'));
const RUNBOOKS = fileURLToPath(new URL('./chaos-runbooks.ts', import.meta.url));
const PRELOAD = new URL('./fault.ts', import.meta.url).href;
const PREFIX = 'muster';
const HELD_MS = 60_000;
/** Shorter than they are shipped, so that a test is over in seconds. `reclaim` is measured with the shipped ones, too. */
const TIMINGS = { MUSTER_LOCK_MS: '2000', MUSTER_STALL_CHECK_MS: '500' };

type Env = Readonly<Record<string, string | undefined>>;

// biome-ignore lint/suspicious/noExplicitAny: bodies of many shapes are looked into by tests
export type Body = any;

export interface WorkerOptions {
  /** Places at which it is held (see chaos-runbooks.ts). */
  readonly hold?: readonly string[];
  /** The point at which it kills itself. */
  readonly crash?: Crash;
  /** It sends every job twice. */
  readonly twice?: boolean;
  readonly env?: Env;
}

/** A door to the API. */
export interface Door {
  readonly service: SpawnedService;
  ask(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Body>;
}

export interface ChaosCluster {
  readonly backend: BackendName;
  readonly db: Database;
  readonly postgres: OwnPostgres;
  /** Where the queue lives: a Redis, or the same PostgreSQL. */
  readonly queueStore: BreakableStore & { flush(): Promise<void> };
  /** To look into, in the way that the processes do. */
  readonly store: ArtifactStore;
  /** There when it was asked for. */
  readonly s3: FaultyS3 | undefined;
  readonly door: Door;
  /** Those that were started since {@link endProcesses}, the dead included. */
  readonly workers: readonly SpawnedService[];
  startWorker(options?: WorkerOptions): Promise<SpawnedService>;
  /** Another API process; `crash` as for workers. */
  startDoor(options?: Pick<WorkerOptions, 'crash' | 'env'>): Promise<Door>;
  startRun(runbook: string, input: object, door?: Door): Promise<string>;
  /** Waits until a stage is held at a place. */
  held(place: string): Promise<void>;
  /** Lets a held stage go on. */
  letGo(place: string): void;
  /** Jobs in the queue that are not done. */
  jobsLeft(): Promise<number>;
  /** Kills the workers and the further doors of a test. */
  endProcesses(): Promise<void>;
  stop(): Promise<void>;
}

export async function startChaosCluster(
  backend: BackendName,
  options: { readonly s3?: boolean } = {},
): Promise<ChaosCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-chaos-'));
  const postgres = await startOwnPostgres(join(folder, 'postgres'));
  const redis = backend === 'redis' ? await startOwnRedis(join(folder, 'redis')) : undefined;
  const s3 = options.s3 ? await startFaultyS3() : undefined;
  const keyFile = join(folder, 'admin.key');
  const signals = join(folder, 'signals');
  await mkdir(signals);
  const env: Env = {
    DATABASE_URL: postgres.url,
    REDIS_URL: redis?.url,
    S3_BUCKET: undefined,
    ...s3?.env,
    MUSTER_QUEUE_PREFIX: PREFIX,
    MUSTER_DATA_DIR: folder,
    MUSTER_BOOTSTRAP_KEY_FILE: keyFile,
    MUSTER_SECRET_KEY: randomBytes(32).toString('base64'),
    MUSTER_RUNBOOKS: RUNBOOKS,
    MUSTER_PORT: '0',
    MUSTER_LOG_LEVEL: 'debug',
    MUSTER_LOG_FORMAT: 'json',
    CHAOS_SIGNALS: signals,
    ...TIMINGS,
  };
  const db = openDatabase({ url: postgres.url, maxConnections: 4, statementTimeoutMs: 120_000 });
  const store = openArtifactStore(readConfig({ MUSTER_DATA_DIR: folder, ...s3?.env }));
  const queue = openQueueBackend({
    ...(redis !== undefined && { redisUrl: redis.url }),
    databaseUrl: postgres.url,
    prefix: PREFIX,
  });
  let place = join(signals, '0');
  let generation = 0;
  let started: SpawnedService[] = [];
  let workers: SpawnedService[] = [];
  const start = async (file: string, { crash, twice, hold = [], env: over }: WorkerOptions) => {
    const preload = crash !== undefined || twice === true;
    const service = spawnService(file, {
      env: {
        ...env,
        CHAOS_SIGNALS: place,
        CHAOS_HOLD: hold.join(','),
        ...(preload && { NODE_OPTIONS: `--import=${PRELOAD}` }),
        ...(crash !== undefined && { CHAOS_CRASH: JSON.stringify(crash) }),
        ...(twice && { CHAOS_TWICE: '1' }),
        ...over,
      },
    });
    started.push(service);
    return { service, message: await service.ready((message) => (message as { type?: string }).type === 'ready') };
  };
  const openDoor = async (over: WorkerOptions): Promise<Door> => {
    const { service, message } = await start(API_MAIN, over);
    const { address } = message as { address: string };
    const key = (await readFile(keyFile, 'utf8')).trim();
    return { service, ask: (...asked) => ask(address, key, ...asked) };
  };
  await mkdir(place);
  const door = await openDoor({});
  started = [];

  return {
    backend,
    db,
    postgres,
    queueStore: redis ?? { ...postgres, flush: () => emptySchema(db, `${PREFIX}_queue`) },
    store,
    s3,
    door,
    get workers() {
      return workers;
    },
    async startWorker(over = {}) {
      const starting = start(WORKER_MAIN, over);
      const { service } = await starting;
      workers.push(service);
      return service;
    },
    startDoor: (over = {}) => openDoor(over),
    startRun: async (runbook, input, through = door) =>
      (await through.ask('POST', '/v1/runs', { runbook, input, now: '2026-05-05T05:05:05Z' })).run_id,
    held: async (at) => {
      await waitFor(() => existsSync(join(place, at)), Boolean, { what: `${at} held`, timeoutMs: HELD_MS });
    },
    letGo: (at) => writeFileSync(join(place, `${at}.go`), ''),
    jobsLeft: () => countJobs(queue),
    async endProcesses() {
      await Promise.all(started.map((service) => service.kill('SIGKILL')));
      started = [];
      workers = [];
      place = join(signals, String(++generation));
      await mkdir(place);
    },
    async stop() {
      await Promise.all([...started, door.service].map((service) => service.kill('SIGKILL')));
      await db.close().catch(() => {});
      await store.close();
      redis?.resume();
      await Promise.all([redis?.stop(), postgres.stop(), s3?.stop()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function ask(
  address: string,
  key: string,
  method: string,
  path: string,
  body?: unknown,
  more: Readonly<Record<string, string>> = {},
): Promise<Body> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...more };
  const response = await fetch(`${address}${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const answer: Body = await response.json();
  if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
  return answer;
}

async function countJobs(backend: QueueBackend): Promise<number> {
  let left = 0;
  for (const name of Object.values(QUEUE_NAMES)) {
    const queue = backend.openQueue(name);
    queue.on('error', () => {});
    try {
      await queue.waitUntilReady();
      const counts = await queue.getJobCounts('active', 'waiting', 'prioritized', 'delayed');
      left += Object.values(counts).reduce((sum, count) => sum + count, 0);
    } finally {
      await queue.close();
    }
  }
  return left;
}

/** A queue on PostgreSQL that loses all it has. Its tables stay: they are made when a process starts. */
async function emptySchema(db: Database, schema: string): Promise<void> {
  const { rows } = await db.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
      where schemaname = $1 and tablename not like '%migration%'`,
    [schema],
  );
  await db.query(`truncate ${rows.map(({ name }) => name).join(', ')}`);
}
