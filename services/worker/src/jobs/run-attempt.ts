import { RunFailure } from '@muster/envelope';
import { HANDED_BACK, type JobOutcome } from '@muster/queue';
import { type RunRecord, releaseRun } from '@muster/results';
import type { WorkerContext } from '../worker-context.ts';

/** A step of a run that was begun this often without an end is not begun again: something in it ends processes. */
const MAX_STARTS = 10;

/** The failure of a run whose step ends the processes that try it, or undefined. */
export function diedTooOften(run: RunRecord): RunFailure | undefined {
  if (run.starts <= MAX_STARTS) return undefined;
  return new RunFailure('worker_died', `the ${run.phase} step was begun ${run.starts - 1} times and never ended`);
}

/** Gives a run's step back, so that another worker takes it at once and nothing counts as a failure. */
export async function handBack(
  context: WorkerContext,
  attempt: { readonly runId: string; readonly fence: number },
): Promise<JobOutcome> {
  await releaseRun(context.db, attempt);
  return HANDED_BACK;
}
