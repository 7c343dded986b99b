/**
 * Claiming a run for its plan, procedure or collect (DESIGN decision 2): the fence is taken here, and every later write
 * of the attempt is conditional on it.
 */

import type { Queryable } from './database.ts';
import { appendEvents } from './run-events.ts';
import type { RunPhase, RunRecord } from './run-record.ts';
import { endsCancelled, RUN_COLUMNS } from './run-record.ts';
import { lockRun, wakeDispatcher } from './runs.ts';

/** The phases that have one job a run. */
export type RunJobPhase = Exclude<RunPhase, 'assess' | 'done'>;

/** What an attempt holds. */
export interface RunClaim {
  readonly fence: number;
  readonly run: RunRecord;
}

/**
 * Claims the run for one phase, or returns undefined: the run is in another phase, final, waiting for a person, or was
 * dispatched again since this job was made.
 *
 * The first claim of a pending run starts it. A run that was cancelled before stays pending, so that its history goes
 * from nothing to cancelled without a start that never was.
 */
export function claimRun(
  db: Queryable,
  claim: { runId: string; phase: RunJobPhase; dispatchNo: number; now?: Date },
): Promise<RunClaim | undefined> {
  const now = claim.now ?? new Date();
  return db.transaction(async (tx) => {
    const before = await lockRun(tx, claim.runId);
    if (before === undefined || before.phase !== claim.phase || before.dispatchNo > claim.dispatchNo) return undefined;
    // An interrupted run waits for a person, unless it was stopped: then somebody has to end it.
    if (before.status === 'interrupted' && before.stopReason === null) return undefined;
    const begins = before.status === 'pending' && !endsCancelled(before.stopReason);
    const { rows } = await tx.query<RunRecord>(
      `update muster.runs set fence = fence + 1, starts = starts + 1, updated_at = $2,
          status = case when $3 then 'running' else status end,
          revision = revision + case when $3 then 1 else 0 end,
          started_at = case when $3 then $2 else started_at end
        where id = $1 returning ${RUN_COLUMNS}`,
      [claim.runId, now, begins],
    );
    const run = rows[0]!;
    if (begins) await appendEvents(tx, run, [{ kind: 'run_started' }], now);
    return { fence: run.fence, run };
  });
}

/**
 * Hands a run back in good order: the attempt does not count as a start. False when the fence has moved on.
 *
 * @param claim without `keepsJob` it is sent again at once, under another number; with it the job at hand comes again
 */
export function releaseRun(
  db: Queryable,
  claim: { runId: string; fence: number; keepsJob?: boolean; now?: Date },
): Promise<boolean> {
  const { keepsJob = false } = claim;
  return db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      `update muster.runs set fence = fence + 1, starts = greatest(starts - 1, 0), updated_at = $3,
          dispatched_at = case when $4 then dispatched_at end
        where id = $1 and fence = $2 and phase in ('procedure', 'plan', 'collect')`,
      [claim.runId, claim.fence, claim.now ?? new Date(), keepsJob],
    );
    if (rowCount === 0) return false;
    if (!keepsJob) await wakeDispatcher(tx);
    return true;
  });
}
