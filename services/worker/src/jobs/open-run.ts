import type { Definition } from '@muster/host';
import type { JobMessage, JobOutcome } from '@muster/queue';
import { getRun, isFinal, type RunRecord } from '@muster/results';
import type { WorkerContext } from '../worker-context.ts';

/** A job's run and its definition, or why the job is not for this worker now. */
export type OpenedRun =
  | { readonly kind: 'open'; readonly definition: Definition }
  | { readonly kind: 'not_now'; readonly outcome: JobOutcome };

const OTHER_WORKER_MS = 3000;

/**
 * Looks a job's run up before anything is claimed: a worker without the run's definition must not take a fence it cannot
 * use (DESIGN 7: it delays the job by a few seconds, for a worker that has it).
 */
export async function openRun(context: WorkerContext, message: JobMessage): Promise<OpenedRun> {
  const run: RunRecord | undefined = await getRun(context.db, { tenant: message.tenant, runId: message.runId });
  if (run === undefined || isFinal(run.status)) {
    return { kind: 'not_now', outcome: { kind: 'discarded', reason: 'its run is over or gone' } };
  }
  const definition = context.catalog.byDigest.get(run.definitionDigest);
  if (definition === undefined) {
    const reason = `this worker has no definition ${run.definitionDigest.slice(0, 12)} of ${run.runbookName}`;
    return { kind: 'not_now', outcome: { kind: 'snoozed', delayMs: OTHER_WORKER_MS, reason } };
  }
  return { kind: 'open', definition };
}
