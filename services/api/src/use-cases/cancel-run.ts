import { type RunStatus, requestCancel } from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import { Problem } from '../problems.ts';
import { type RunReader, runNotFound, scopeOfRun } from './find-run.ts';

/** What a cancel comes to (workflow-tools contract). */
export interface CancelledRun {
  readonly run_id: string;
  /** It becomes `cancelled` when the answer is written. */
  readonly run_status: RunStatus;
  /** It was cancelled or asked to be before. */
  readonly idempotent: boolean;
}

/** Asks for a cancel. @throws Problem `run_not_found`, `run_final` */
export async function cancelRun(
  deps: ApiDeps,
  reader: RunReader,
  runId: string,
  reason?: string,
): Promise<CancelledRun> {
  const outcome = await requestCancel(deps.db, {
    ...scopeOfRun(reader, runId),
    keyId: reader.caller.keyId,
    ...(reason !== undefined && { reason }),
    ...(deps.now !== undefined && { now: deps.now() }),
  });
  switch (outcome.outcome) {
    case 'not_found':
      throw runNotFound();
    case 'conflict':
      throw new Problem('run_final', `the run is ${outcome.status} already`, { run_status: outcome.status });
    default:
      return {
        run_id: outcome.run.id,
        run_status: outcome.run.status,
        idempotent: outcome.outcome !== 'requested',
      };
  }
}
