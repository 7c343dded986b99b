import type { Definition } from '@muster/host';
import type { JobMessage, JobOutcome } from '@muster/queue';
import { getRun, isFinal, isOffered, type RunRecord, type StopReason } from '@muster/results';
import type { WorkerContext } from '../worker-context.ts';

/** A job's run and its definition, or how to go on without one, or why the job is not for this worker now. */
export type OpenedRun =
  | { readonly kind: 'open'; readonly definition: Definition }
  /** It was stopped, and can be ended by somebody who has not got its definition. */
  | { readonly kind: 'end_without'; readonly stopReason: StopReason }
  | { readonly kind: 'not_now'; readonly outcome: JobOutcome };

/**
 * How long a job stays away from a worker that has not got its definition, in ms. Where somebody has it, not for long: an
 * idle worker takes every job from the busy one that could do it, which then waits for as long.
 */
const OTHER_WORKER_MS = 500;
const NO_WORKER_MS = 5000;

/**
 * Looks a job's run up before anything is claimed: a worker without the run's definition must not take a fence it cannot
 * use (DESIGN 7: it delays the job, for a worker that has it).
 */
export async function openRun(context: WorkerContext, message: JobMessage): Promise<OpenedRun> {
  const run: RunRecord | undefined = await getRun(context.db, { tenant: message.tenant, runId: message.runId });
  if (run === undefined || isFinal(run.status)) {
    return { kind: 'not_now', outcome: { kind: 'discarded', reason: 'its run is over or gone' } };
  }
  const definition = context.catalog.byDigest.get(run.definitionDigest);
  if (definition === undefined) {
    const { stopReason } = run;
    const offered = await isOffered(context.db, { digest: run.definitionDigest, now: context.now() });
    if (stopReason !== null && endsWithout(message, offered)) return { kind: 'end_without', stopReason };
    const delayMs = offered ? OTHER_WORKER_MS : NO_WORKER_MS;
    const reason = `this worker has no definition ${run.definitionDigest.slice(0, 12)} of ${run.runbookName}`;
    return { kind: 'not_now', outcome: { kind: 'snoozed', delayMs, reason } };
  }
  return { kind: 'open', definition };
}

/** What is not assessed any more needs no chart; an answer is better made by whoever has them, if somebody has. */
function endsWithout({ kind }: JobMessage, offered: boolean): boolean {
  return kind === 'plan' || kind === 'assess' || !offered;
}
