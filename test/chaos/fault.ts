/**
 * Loaded into a process before everything else (`node --import`), and armed by its environment alone. Nothing that is
 * shipped knows of it.
 *
 * - CHAOS_CRASH: `{ "statement", "at", "nth" }`. The process kills itself with SIGKILL at the nth statement to PostgreSQL
 *   that has this text: `before` it is sent, `after` its answer, `before_commit` of its transaction, `in_commit` (sent,
 *   and the answer not waited for) or `after_commit`.
 * - CHAOS_TWICE=1: every job that is sent to the queue is sent twice, under two ids.
 */
import { isMainThread } from 'node:worker_threads';
import { Queue } from 'bullmq';
import pg from 'pg';

export type CrashMoment = 'before' | 'after' | 'before_commit' | 'in_commit' | 'after_commit';

export interface Crash {
  /** A regular expression over the statement's text. */
  readonly statement: string;
  readonly at: CrashMoment;
  readonly nth: number;
}

type Query = (...args: unknown[]) => unknown;

if (isMainThread) {
  const { CHAOS_CRASH, CHAOS_TWICE } = process.env;
  if (CHAOS_CRASH) armCrash(JSON.parse(CHAOS_CRASH));
  if (CHAOS_TWICE) sendTwice();
}

function armCrash({ statement, at, nth }: Crash): void {
  const pattern = new RegExp(statement);
  const query = pg.Client.prototype.query as unknown as Query;
  let seen = 0;
  let doomed: unknown;
  const patched: Query = function (this: unknown, ...args) {
    const text = textOf(args[0]);
    const hit = pattern.test(text) && ++seen === nth;
    if (hit) doomed = this;
    const commits = doomed === this && text === 'commit';
    if ((hit && at === 'before') || (commits && at === 'before_commit')) die();
    const answer = query.apply(this, args);
    if (commits && at === 'in_commit') setImmediate(die);
    if ((hit && at === 'after') || (commits && at === 'after_commit')) void (answer as Promise<unknown>).then(die);
    // A transaction that was undone did not get to its commit: the next one is waited for.
    if (doomed === this && text === 'rollback') {
      doomed = undefined;
      seen--;
    }
    return answer;
  };
  pg.Client.prototype.query = patched as never;
}

function sendTwice(): void {
  type Bulk = Parameters<Queue['addBulk']>[0];
  const addBulk = Queue.prototype.addBulk;
  Queue.prototype.addBulk = function (this: Queue, jobs: Bulk) {
    const again = (job: Bulk[number]) => ({ ...job, opts: { ...job.opts, jobId: `${job.opts?.jobId}_again` } });
    return addBulk.call(
      this,
      jobs.flatMap((job) => [job, again(job)]),
    );
  } as never;
}

function textOf(query: unknown): string {
  if (typeof query === 'string') return query;
  return String((query as { text?: unknown } | null)?.text ?? '');
}

function die(): void {
  process.kill(process.pid, 'SIGKILL');
}
