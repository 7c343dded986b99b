/**
 * What people write by hand: one job a subject, whose processor runs the chart and inserts its row. BullMQ and pg as their
 * guides show them. Tells its parent how many jobs it has done.
 */
import { createPostgresBackend, type Job, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import pg from 'pg';
import { BASELINE_QUEUE, BASELINE_SCHEMA } from './baseline-queue.ts';
import { type BenchSubject, benchChart } from './charts.ts';
import { runBareSubject } from './envelope-overhead.ts';

const CONCURRENCY = 50;
const TELL_MS = 20;

const { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl } = process.env;
const pool = new pg.Pool({ connectionString: databaseUrl });
const chart = benchChart();
let done = 0;

async function handle(job: Job<{ subject: BenchSubject; count: number }>): Promise<void> {
  const { subject, count } = job.data;
  const { state, verdict, evidence } = await runBareSubject(chart, subject, count);
  await pool.query('insert into baseline_rows (key, verdict, row, evidence) values ($1, $2, $3, $4)', [
    subject.name,
    verdict,
    JSON.stringify({ age_days: state.age_days, size_gb: state.size_gb }),
    JSON.stringify(evidence),
  ]);
  done += 1;
}

const worker =
  redisUrl === undefined
    ? new Worker(
        BASELINE_QUEUE,
        handle,
        {
          connection: { connectionString: databaseUrl, schema: BASELINE_SCHEMA } as never,
          concurrency: CONCURRENCY,
        },
        createPostgresBackend as never,
      )
    : new Worker(BASELINE_QUEUE, handle, {
        connection: new Redis(redisUrl, { maxRetriesPerRequest: null }),
        concurrency: CONCURRENCY,
      });
worker.on('error', (error) => console.error(`baseline worker: ${error.message}`));
await worker.waitUntilReady();

setInterval(() => process.send?.({ type: 'done', done }), TELL_MS);
process.on('disconnect', () => process.exit(1));
process.on('SIGTERM', () => process.exit(0));
process.send?.({ type: 'ready' });
