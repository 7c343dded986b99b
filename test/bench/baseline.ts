/**
 * The suite `baseline`: one BullMQ job a subject, as people write it by hand, beside Muster on the same PostgreSQL and
 * Redis, with the same number of worker processes and the same fleet. The hand-written way stores row and evidence; it has
 * no walk, no fences and no answer.
 */
import { fileURLToPath } from 'node:url';
import { createPostgresBackend, Queue, runMigrations } from 'bullmq';
import { Redis } from 'ioredis';
import pg from 'pg';
import { BASELINE_QUEUE, BASELINE_SCHEMA } from './baseline-queue.ts';
import { benchSubjects } from './charts.ts';
import { type BenchContext, WARM_UP_SUBJECTS } from './context.ts';
import { type StartedProcess, startProcess } from './processes.ts';
import { type BackendName, openStage, type Stage } from './stage.ts';
import { measureSweep, type SweepFigures } from './sweep.ts';
import { ratio } from './sweeps.ts';
import { type ProcessUsage, startMeter } from './usage.ts';

export interface BaselineFigures {
  readonly backend: BackendName;
  readonly workers: number;
  readonly subjects: number;
  readonly one_job_a_subject: {
    readonly seconds: number;
    readonly subjects_per_second: number;
    readonly processes: Readonly<Record<string, ProcessUsage>>;
  };
  readonly muster: SweepFigures;
  /** Subjects a second of Muster over those of one job a subject. */
  readonly ratio: number;
}

const BASELINE_WORKER = fileURLToPath(new URL('./baseline-worker.ts', import.meta.url));
const WORKERS = [1, 2];
/** One job a subject costs the same in any fleet, so it need not be waited for in the large ones. */
const MOST_SUBJECTS: Readonly<Record<BackendName, number>> = { redis: 20_000, postgres: 5000 };
const JOBS_AN_ADD = 1000;

export async function measureBaseline(context: BenchContext): Promise<BaselineFigures[]> {
  const figures: BaselineFigures[] = [];
  for (const backend of context.backends) {
    const subjects = Math.min(MOST_SUBJECTS[backend], context.subjects?.at(-1) ?? MOST_SUBJECTS[backend]);
    for (const workers of WORKERS) {
      const measured = await measureBoth(context, backend, workers, subjects);
      const rates = `${measured.one_job_a_subject.subjects_per_second}/s by hand, ${measured.muster.subjects_per_second}/s`;
      context.note(`  ${backend}, ${workers} worker(s), ${subjects} subjects: ${rates}, ${measured.ratio} times`);
      figures.push(measured);
    }
  }
  return figures;
}

async function measureBoth(
  context: BenchContext,
  backend: BackendName,
  workers: number,
  subjects: number,
): Promise<BaselineFigures> {
  const stage = await openStage(backend);
  try {
    const muster = await sweepOnce(stage, context, workers, subjects);
    const byHand = await runByHand(stage, context, workers, subjects);
    const rate = Math.round(subjects / byHand.seconds);
    return {
      backend,
      workers,
      subjects,
      one_job_a_subject: { ...byHand, seconds: Number(byHand.seconds.toFixed(3)), subjects_per_second: rate },
      muster,
      ratio: ratio(muster.subjects_per_second, rate),
    };
  } finally {
    await stage.close();
  }
}

async function sweepOnce(stage: Stage, context: BenchContext, count: number, subjects: number): Promise<SweepFigures> {
  const workers = await stage.startWorkers({ workers: count, chartThreads: 1 });
  try {
    const request = { runbook: 'bench_posture', signal: context.signal };
    await measureSweep(stage, workers, { ...request, subjects: WARM_UP_SUBJECTS });
    return await measureSweep(stage, workers, { ...request, subjects });
  } finally {
    await workers.stop();
  }
}

async function runByHand(stage: Stage, { signal }: BenchContext, count: number, subjects: number) {
  await using cleanUp = new AsyncDisposableStack();
  const client = new pg.Client({ connectionString: stage.databaseUrl });
  await client.connect();
  cleanUp.defer(() => client.end());
  await client.query(`create table baseline_rows (
    id bigint generated always as identity primary key,
    key text not null, verdict text not null, row jsonb not null, evidence jsonb not null,
    created_at timestamptz not null default now()
  )`);
  if (stage.redisUrl === undefined) await runMigrations(client, BASELINE_SCHEMA);
  const queue = openQueue(stage, cleanUp);
  const workers: StartedProcess[] = [];
  cleanUp.defer(async () => void (await Promise.all(workers.map((worker) => worker.stop()))));
  const env = { ...process.env, DATABASE_URL: stage.databaseUrl, REDIS_URL: stage.redisUrl };
  while (workers.length < count) workers.push(await startProcess(BASELINE_WORKER, env));
  const tally = new JobTally(workers);
  await addJobs(queue, WARM_UP_SUBJECTS);
  await tally.reaches(WARM_UP_SUBJECTS, signal);
  const meter = await startMeter([
    ...workers.map(({ pid }, index) => ({ name: `worker_${index + 1}`, pid })),
    ...stage.services.filter(({ name }) => name !== 'api'),
  ]);
  const startedAt = performance.now();
  // Added while they are worked on, as a producer of one's own would.
  await Promise.all([addJobs(queue, subjects), tally.reaches(WARM_UP_SUBJECTS + subjects, signal)]);
  const seconds = (performance.now() - startedAt) / 1000;
  const processes = await meter.stop();
  const { rows } = await client.query<{ count: number }>('select count(*)::int as count from baseline_rows');
  const stored = (rows[0]?.count ?? 0) - WARM_UP_SUBJECTS;
  if (stored !== subjects) throw new Error(`by hand, ${stored} of ${subjects} rows were stored`);
  return { seconds, processes };
}

function openQueue(stage: Stage, cleanUp: AsyncDisposableStack): Queue {
  if (stage.redisUrl === undefined) {
    const connection = { connectionString: stage.databaseUrl, schema: BASELINE_SCHEMA } as never;
    return cleanUp.adopt(
      new Queue(BASELINE_QUEUE, { connection }, createPostgresBackend as never),
      async (queue) => await queue.close(),
    );
  }
  const connection = new Redis(stage.redisUrl, { maxRetriesPerRequest: null });
  cleanUp.defer(() => connection.disconnect());
  return cleanUp.adopt(new Queue(BASELINE_QUEUE, { connection }), async (queue) => await queue.close());
}

async function addJobs(queue: Queue, count: number): Promise<void> {
  for (let first = 0; first < count; first += JOBS_AN_ADD) {
    const page = benchSubjects(Math.min(JOBS_AN_ADD, count - first), first);
    await queue.addBulk(
      page.map((subject) => ({
        name: 'assess',
        data: { subject, count },
        opts: { removeOnComplete: true, removeOnFail: true },
      })),
    );
  }
}

/** What the workers have done together. */
class JobTally {
  readonly #done: number[];
  #check: () => void = () => {};

  constructor(workers: readonly StartedProcess[]) {
    this.#done = workers.map(() => 0);
    workers.forEach((worker, index) => {
      worker.onMessage(({ done }) => {
        this.#done[index] = Number(done);
        this.#check();
      });
    });
  }

  reaches(wanted: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      this.#check = () => {
        if (signal.aborted) reject(signal.reason);
        else if (this.#done.reduce((sum, done) => sum + done, 0) >= wanted) resolve();
      };
      this.#check();
    });
  }
}
