/**
 * What a measurement stands on: a PostgreSQL, a Redis where it is the backend, the API, a folder for artifacts, all of its
 * own and all gone afterwards; and workers that come and go.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbeddedPostgres } from '@muster/embedded';
import { PROCESS_MEMORY } from '@muster/host';
import { type Database, migrate, openDatabase } from '@muster/results';
import { type StartedProcess, startProcess } from './processes.ts';
import { startRedis } from './redis.ts';
import { type MeteredProcess, parentOf } from './usage.ts';

export const BACKENDS = ['redis', 'postgres'] as const;
export type BackendName = (typeof BACKENDS)[number];

/** What deliveries are signed with. */
export const HOOK_KEY = randomBytes(24);

const RUNBOOKS = fileURLToPath(new URL('./runbooks.ts', import.meta.url));
const API = fileURLToPath(import.meta.resolve('@muster/api/main'));
const WORKER = fileURLToPath(import.meta.resolve('@muster/worker/main'));

/** How the workers of a measurement are set up. */
export interface WorkerSetting {
  readonly workers: number;
  readonly chartThreads: number;
  /** Chunks that one worker has in hand at once. Default: what keeps its threads busy. */
  readonly chunksAtOnce?: number;
}

export interface Stage {
  readonly backend: BackendName;
  readonly db: Database;
  /** Where the API listens, and a key for it. */
  readonly address: string;
  readonly key: string;
  readonly artifactsFolder: string;
  /** Where jobs and rows of something else than Muster may go. */
  readonly databaseUrl: string;
  readonly redisUrl: string | undefined;
  /** What stays up through all measurements of this stage. */
  readonly services: readonly MeteredProcess[];
  startWorkers(setting: WorkerSetting): Promise<Workers>;
  /** Starts a run through the API. */
  startRun(runbook: string, count: number): Promise<{ runId: string; acknowledgedMs: number }>;
  close(): Promise<void>;
}

export interface Workers {
  readonly metered: readonly MeteredProcess[];
  stop(): Promise<void>;
}

/** Opens a stage. @throws Error when Redis is asked for and no redis-server is in the PATH */
export async function openStage(backend: BackendName): Promise<Stage> {
  const undo = new AsyncDisposableStack();
  try {
    const folder = await mkdtemp(join(tmpdir(), 'muster-bench-'));
    undo.defer(() => rm(folder, { recursive: true, force: true }));
    const postgres = await startEmbeddedPostgres({ directory: join(folder, 'postgres') });
    undo.defer(() => postgres.stop());
    const redis = backend === 'redis' ? await startRedis() : undefined;
    if (backend === 'redis' && redis === undefined) throw new Error('there is no redis-server in the PATH');
    undo.defer(async () => redis?.stop());
    const db = openDatabase({ url: postgres.url });
    undo.defer(() => db.close());
    await migrate(db);
    const keyFile = join(folder, 'bench.key');
    const env = {
      ...PROCESS_MEMORY,
      ...plainEnvironment(),
      DATABASE_URL: postgres.url,
      REDIS_URL: redis?.url,
      MUSTER_QUEUE_PREFIX: 'bench',
      MUSTER_DATA_DIR: folder,
      MUSTER_BOOTSTRAP_KEY_FILE: keyFile,
      MUSTER_PORT: '0',
      MUSTER_SECRET_KEY: randomBytes(32).toString('base64'),
      MUSTER_RUNBOOKS: RUNBOOKS,
      MUSTER_CREDENTIAL_BENCH_HOOK: `whsec_${HOOK_KEY.toString('base64')}`,
      // Files that change while it measures would else be another definition to the process that starts later.
      MUSTER_BUILD_ID: 'bench',
      MUSTER_LOG_LEVEL: process.env.BENCH_LOG ?? 'error',
    };
    const api = await startProcess(API, env);
    undo.defer(() => api.stop());
    const key = (await readFile(keyFile, 'utf8')).trim();
    const { rows } = await db.query<{ pid: number }>('select pg_backend_pid() as pid');
    const services: MeteredProcess[] = [
      { name: 'api', pid: api.pid },
      { name: 'postgres', pid: await parentOf(rows[0]!.pid), children: true },
      ...(redis === undefined ? [] : [{ name: 'redis', pid: redis.pid }]),
    ];
    return {
      backend,
      db,
      address: String(api.ready.address),
      key,
      artifactsFolder: join(folder, 'artifacts'),
      databaseUrl: postgres.url,
      redisUrl: redis?.url,
      services,
      startWorkers: (setting) => startWorkers(setting, env),
      startRun: (runbook, count) => startRun(`${api.ready.address}/v1/runs`, key, runbook, count),
      close: () => undo.disposeAsync(),
    };
  } catch (error) {
    await undo.disposeAsync();
    throw error;
  }
}

/** Settings of whoever runs the benchmark would be measured with it. */
function plainEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(MUSTER|S3)_/.test(name)));
}

async function startWorkers(setting: WorkerSetting, env: NodeJS.ProcessEnv): Promise<Workers> {
  const { workers, chartThreads, chunksAtOnce = chartThreads + 2 } = setting;
  const own = {
    ...env,
    MUSTER_CHART_THREADS: String(chartThreads),
    MUSTER_WORKER_CONCURRENCY: String(chunksAtOnce),
  };
  const started: StartedProcess[] = [];
  const stop = async () => {
    await Promise.all(started.map((worker) => worker.stop()));
  };
  try {
    for (let index = 0; index < workers; index++) started.push(await startProcess(WORKER, own));
  } catch (error) {
    await stop();
    throw error;
  }
  return { metered: started.map(({ pid }, index) => ({ name: `worker_${index + 1}`, pid })), stop };
}

async function startRun(url: string, key: string, runbook: string, count: number) {
  const startedAt = performance.now();
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ runbook, input: { count } }),
  });
  const body = (await response.json()) as { run_id?: string; code?: string };
  const acknowledgedMs = performance.now() - startedAt;
  if (body.run_id === undefined) throw new Error(`the run was not accepted: ${response.status} ${body.code}`);
  return { runId: body.run_id, acknowledgedMs };
}
