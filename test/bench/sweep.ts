/**
 * A whole sweep through real processes: PostgreSQL, a queue backend and workers, subjects a second from acceptance to the
 * answer, over the bare rate of one core that is measured in the same run.
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbeddedPostgres } from '@muster/embedded';
import { canonicalJson } from '@muster/envelope';
import { loadCatalog } from '@muster/host';
import {
  acceptRun,
  createApiKey,
  type Database,
  getRun,
  isFinal,
  migrate,
  openDatabase,
  runProgress,
} from '@muster/results';
import { benchSubjects } from './charts.ts';
import { runBare } from './envelope-overhead.ts';
import { startProcess } from './processes.ts';

const RUNBOOKS = fileURLToPath(new URL('./runbooks.ts', import.meta.url));
const WORKER = fileURLToPath(import.meta.resolve('@muster/worker/main'));
const TENANT = 'bench';
const POLL_MS = 50;

export interface SweepFigures {
  readonly backend: 'postgres' | 'redis';
  readonly subjects: number;
  readonly workers: number;
  readonly chart_threads: number;
  readonly seconds: number;
  readonly subjects_per_second: number;
  /** Over the bare rate of one core in the same run. */
  readonly ratio_to_bare: number;
  readonly worker_rss_mb: number;
  readonly acknowledged_ms: number;
  readonly wal_mb: number;
}

export interface SweepOptions {
  readonly subjects: number;
  readonly workers: number;
  readonly threads: number;
  readonly redisUrl?: string;
  readonly barePerSecond: number;
}

/** The bare rate of one core: the chart with narrative, evidence and redacted snapshot, nothing stored. */
export async function measureBareRate(): Promise<number> {
  const subjects = benchSubjects(4000);
  await runBare(subjects);
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 3; round++) {
    const startedAt = performance.now();
    await runBare(subjects);
    best = Math.min(best, performance.now() - startedAt);
  }
  return (1000 * subjects.length) / best;
}

/** Measures one sweep. */
export async function measureSweep(options: SweepOptions): Promise<SweepFigures> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-bench-'));
  const postgres = await startEmbeddedPostgres({ directory: join(folder, 'postgres') });
  const db = openDatabase({ url: postgres.url });
  const env = {
    ...process.env,
    DATABASE_URL: postgres.url,
    ...(options.redisUrl !== undefined && { REDIS_URL: options.redisUrl }),
    MUSTER_QUEUE_PREFIX: `bench_${randomBytes(4).toString('hex')}`,
    MUSTER_DATA_DIR: folder,
    MUSTER_SECRET_KEY: randomBytes(32).toString('base64'),
    MUSTER_RUNBOOKS: RUNBOOKS,
    MUSTER_CHART_THREADS: String(options.threads),
    MUSTER_WORKER_CONCURRENCY: String(options.threads + 2),
    MUSTER_LOG_LEVEL: process.env.BENCH_LOG ?? 'warn',
  };
  const workers: Awaited<ReturnType<typeof startProcess>>[] = [];
  try {
    await migrate(db);
    for (let index = 0; index < options.workers; index++) workers.push(await startProcess(WORKER, env));
    const walBefore = await walBytes(db);
    const startedAt = performance.now();
    const runId = await accept(db, options.subjects);
    const acknowledged = performance.now() - startedAt;
    let rss = 0;
    for (;;) {
      const run = await getRun(db, { tenant: TENANT, runId });
      for (const worker of workers) rss = Math.max(rss, await rssOf(worker.pid));
      if (run !== undefined && isFinal(run.status)) {
        if (run.status !== 'completed') throw new Error(`the sweep ended ${run.status}: ${run.statusSummary}`);
        break;
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    const seconds = (performance.now() - startedAt) / 1000;
    const progress = await runProgress(db, { tenant: TENANT, runId });
    if (progress?.settled !== options.subjects) throw new Error(`settled ${progress?.settled} of ${options.subjects}`);
    const rate = options.subjects / seconds;
    return {
      backend: options.redisUrl === undefined ? 'postgres' : 'redis',
      subjects: options.subjects,
      workers: options.workers,
      chart_threads: options.threads,
      seconds: Number(seconds.toFixed(2)),
      subjects_per_second: Math.round(rate),
      ratio_to_bare: Number((rate / options.barePerSecond).toFixed(3)),
      worker_rss_mb: Math.round(rss),
      acknowledged_ms: Math.round(acknowledged),
      wal_mb: Math.round(((await walBytes(db)) - walBefore) / 1e6),
    };
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    await db.close();
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function accept(db: Database, count: number): Promise<string> {
  const { byName } = await loadCatalog({ runbooksModule: RUNBOOKS, buildId: undefined });
  const definition = byName.get('bench_posture');
  if (definition === undefined) throw new Error('the bench runbook is not in its own module');
  const { id: keyId } = await createApiKey(db, { tenant: TENANT, name: 'bench', role: 'runner' });
  const canonical = canonicalJson({ count });
  const outcome = await acceptRun(db, {
    tenant: TENANT,
    session: { keyId, name: 'default' },
    definition: { digest: definition.digest, name: 'bench_posture', version: '1.0.0', declaration: {} },
    input: { digest: createHash('sha256').update(canonical).digest('hex'), canonical },
    form: 'fleet',
    now: new Date(),
  });
  if (outcome.outcome !== 'accepted') throw new Error(`the run was not accepted: ${outcome.outcome}`);
  return outcome.run.id;
}

async function walBytes(db: Database): Promise<number> {
  const { rows } = await db.query<{ bytes: number }>("select pg_current_wal_lsn() - '0/0'::pg_lsn as bytes");
  return Number(rows[0]?.bytes);
}

async function rssOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}
