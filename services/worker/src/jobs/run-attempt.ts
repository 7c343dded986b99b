import { RunFailure } from '@muster/envelope';
import type { JobOutcome } from '@muster/queue';
import { type RunRecord, releaseRun } from '@muster/results';
import { isOutage } from '../run-tools.ts';
import type { WorkerContext } from '../worker-context.ts';

/** A step of a run that was begun this often without an end is not begun again: something in it ends processes. */
const MAX_STARTS = 10;

/** The failure of a run whose step ends the processes that try it, or undefined. */
export function diedTooOften(run: RunRecord): RunFailure | undefined {
  if (run.starts <= MAX_STARTS) return undefined;
  return new RunFailure('worker_died', `the ${run.phase} step was begun ${run.starts - 1} times and never ended`);
}

/** What an attempt at a run's step holds. */
export interface RunAttempt {
  readonly runId: string;
  readonly fence: number;
}

/** Of a step or a chunk that was released: it is sent anew, and moving this job back as well would make two claims of it. */
export const RELEASED: JobOutcome = { kind: 'discarded', reason: 'handed back, because this worker stops' };

/** Gives a run's step back, so that another worker takes it at once and nothing counts as a failure. */
export async function handBack(context: WorkerContext, attempt: RunAttempt): Promise<JobOutcome> {
  await releaseRun(context.db, attempt);
  return RELEASED;
}

const STORE_AWAY_MS = 2000;

/** Of a job that needs a store which is away: it comes again. */
export function storeAway(error: unknown): JobOutcome {
  const { code } = error as { code?: string };
  return { kind: 'retry', delayMs: STORE_AWAY_MS, reason: `a store is away (${code})` };
}

/** Works on a claimed step of a run. A store that goes away in the middle of it lets the step come again. */
export async function attemptStep(
  context: WorkerContext,
  attempt: RunAttempt,
  work: () => Promise<JobOutcome>,
): Promise<JobOutcome> {
  try {
    return await work();
  } catch (error) {
    if (!isOutage(error)) throw error;
    return await tryLater(context, attempt, error);
  }
}

/** Lets a run's step come again because a store is away. That is nobody's death, so it counts as no start. */
export async function tryLater(context: WorkerContext, attempt: RunAttempt, outage: unknown): Promise<JobOutcome> {
  await releaseRun(context.db, { ...attempt, keepsJob: true });
  return storeAway(outage);
}
