/**
 * Stopping a run early (DESIGN decisions 5 and 8): the reason is written on the row, and whoever works on the run reads
 * it there; a notice makes them look at once. The status changes only when the answer is written.
 */

import { appendAudit } from './audit.ts';
import { boundedText } from './bounded-text.ts';
import type { Queryable, Tx } from './database.ts';
import { closeInterruption } from './interruptions.ts';
import type { RunRecord, RunScope, RunStatus, StopReason } from './run-record.ts';
import { endsCancelled, isFinal, RUN_COLUMNS } from './run-record.ts';
import { getRun, lockRun, wakeDispatcher, wakeStopped } from './runs.ts';

export type CancelOutcome =
  | { readonly outcome: 'requested' | 'already_requested' | 'already_cancelled'; readonly run: RunRecord }
  /** The run is over in another way. */
  | { readonly outcome: 'conflict'; readonly status: RunStatus; readonly run: RunRecord }
  | { readonly outcome: 'not_found' };

const REASON_BYTES = 512;
const DEFAULT_REASON = 'cancel requested';

/**
 * Asks for a cancel. A run that nobody has claimed yet goes straight to the job that writes its answer.
 *
 * @param request `reason` is trimmed and cut to 512 bytes; empty becomes `cancel requested` (workflow-tools contract).
 * `keyId` is who asks, for the audit.
 */
export function requestCancel(
  db: Queryable,
  request: RunScope & { reason?: string; keyId?: string; now?: Date },
): Promise<CancelOutcome> {
  const now = request.now ?? new Date();
  const reason = boundedText(request.reason ?? '', REASON_BYTES) || DEFAULT_REASON;
  return db.transaction(async (tx) => {
    if ((await getRun(tx, request)) === undefined) return { outcome: 'not_found' };
    const run = (await lockRun(tx, request.runId))!;
    if (run.status === 'cancelled') return { outcome: 'already_cancelled', run };
    if (isFinal(run.status)) return { outcome: 'conflict', status: run.status, run };
    if (endsCancelled(run.stopReason)) return { outcome: 'already_requested', run };
    await tx.query(
      `update muster.runs set cancel_requested_at = $2, cancel_reason = $3, stop_reason = 'cancelled'
      where id = $1`,
      [run.id, now, reason],
    );
    await closeInterruption(tx, run.id, 'dropped', now);
    const { tenant, id: runId } = run;
    await appendAudit(tx, { tenant, keyId: request.keyId, action: 'run_cancelled', runId, details: { reason }, now });
    return { outcome: 'requested', run: await sendToItsEnd(tx, run, now) };
  });
}

/**
 * Stops a run for a reason of Muster's own. The first reason stays, but a cancel goes over it. `final` when the run is
 * over or not there. A run that waits for a person then ends as `expired`, whatever the reason: nobody answered by then.
 */
export function stopRun(
  db: Queryable,
  stop: { runId: string; stopReason: Exclude<StopReason, 'cancelled' | 'refused' | 'expired'>; now?: Date },
): Promise<'stopped' | 'already_stopped' | 'final'> {
  const now = stop.now ?? new Date();
  return db.transaction(async (tx) => {
    const run = await lockRun(tx, stop.runId);
    if (run === undefined || isFinal(run.status)) return 'final';
    if (run.stopReason !== null) return 'already_stopped';
    if (run.status === 'interrupted') {
      await endUnanswered(tx, run, stop.stopReason, now);
      return 'stopped';
    }
    await tx.query('update muster.runs set stop_reason = $2 where id = $1', [run.id, stop.stopReason]);
    await sendToItsEnd(tx, run, now);
    return 'stopped';
  });
}

/**
 * Ends a locked run that waits for a person: somebody said no, or nobody said anything. It ends as a cancelled run does.
 * An expiry is in the audit; a refusal is an answer, and whoever stores that writes it there.
 */
export async function endWaiting(
  tx: Tx,
  run: RunRecord,
  stopReason: 'refused' | 'expired',
  why: string,
  now: Date,
): Promise<RunRecord> {
  await tx.query(
    'update muster.runs set cancel_requested_at = $2, cancel_reason = $3, stop_reason = $4 where id = $1',
    [run.id, now, boundedText(why, REASON_BYTES), stopReason],
  );
  const question = await closeInterruption(tx, run.id, 'expired', now);
  if (question !== undefined) {
    await appendAudit(tx, {
      tenant: run.tenant,
      action: 'run_expired',
      runId: run.id,
      interruptionId: question.id,
      details: { number: question.number, question: question.question, why },
      now,
    });
  }
  return await sendToItsEnd(tx, run, now);
}

/** Ends a locked run that waits for a person when something else stops it: an interrupted run cannot complete. */
export function endUnanswered(tx: Tx, run: RunRecord, stopped: StopReason, now: Date): Promise<RunRecord> {
  return endWaiting(tx, run, 'expired', `nobody answered before the run was stopped (${stopped})`, now);
}

/**
 * A fleet that nobody has claimed has nothing to plan any more: collect writes its answer. One that waits for a person
 * is sent again, so that somebody ends it. Everything else is being worked on, or waits to be.
 */
async function sendToItsEnd(tx: Tx, run: RunRecord, now: Date): Promise<RunRecord> {
  const unclaimedFleet = run.status === 'pending' && run.fence === 0 && run.phase === 'plan';
  const { rows } = await tx.query<RunRecord>(
    `update muster.runs set updated_at = $2, phase = case when $3 then 'collect' else phase end,
        dispatched_at = case when $3 or status = 'interrupted' then null else dispatched_at end
      where id = $1 returning ${RUN_COLUMNS}`,
    [run.id, now, unclaimedFleet],
  );
  await wakeStopped(tx, run.id);
  await wakeDispatcher(tx);
  return rows[0]!;
}

/** The runs among these that are to stop, with the reason. One query for all that a worker works on. */
export async function readStopReasons(
  db: Queryable,
  runIds: readonly string[],
): Promise<(readonly [string, StopReason])[]> {
  if (runIds.length === 0) return [];
  const { rows } = await db.query<{ id: string; reason: StopReason }>(
    'select id, stop_reason as reason from muster.runs where id = any($1::uuid[]) and stop_reason is not null',
    [runIds],
  );
  return rows.map(({ id, reason }) => [id, reason] as const);
}
