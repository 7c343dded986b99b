/**
 * Finishing a run: status, answer, last entry of the history, its artifacts and the end of its uploads in one
 * transaction, once (DESIGN decisions 2 and 8).
 */

import type { ArtifactCommit } from './artifacts.ts';
import { commitArtifacts } from './artifacts.ts';
import { boundedText, storableText } from './bounded-text.ts';
import type { JudgedBy, PlanGaps, Sweep } from './changes.ts';
import type { Queryable, Tx } from './database.ts';
import { isOutOfTime } from './errors.ts';
import { insertSubjects } from './insert-subjects.ts';
import { clearCheckpoints, closeInterruption } from './interruptions.ts';
import { packSubjects, type SubjectSettlement } from './packed-subjects.ts';
import { keysJson, type SubjectNames } from './plan-chunks.ts';
import { recordChanges } from './record-changes.ts';
import type { RunEventInput } from './run-events.ts';
import { appendEvents } from './run-events.ts';
import type { AnswerKind, FinalRunStatus, RunRecord } from './run-record.ts';
import { endsCancelled, RUN_COLUMNS } from './run-record.ts';
import { lockRun } from './runs.ts';
import { endUnanswered } from './stop-run.ts';
import { condemnUploadsOf } from './uploads.ts';

/** A row of a bounded run: a subject with its name. */
export type RowSettlement = SubjectSettlement & { readonly key: string };

/** What a sweep's changes need to be found, and how its answer tells them. */
export interface SweepFinish {
  readonly judgedBy: JudgedBy;
  readonly gaps: PlanGaps;
  /** The body of the answer with what changed. Pure: it runs inside the transaction. */
  readonly compose: (sweep: Sweep) => unknown;
}

/** The end of a run, as the attempt that holds its fence gives it. */
export interface RunFinish {
  readonly runId: string;
  readonly fence: number;
  /**
   * `cancelled` only when a cancel was requested; `completed` never with a failure as its answer, and it becomes
   * `cancelled` when a cancel came in while the answer was being made.
   */
  readonly status: FinalRunStatus;
  /** The order of the body's keys is kept. */
  readonly answer: { readonly kind: AnswerKind; readonly body: unknown };
  /** One printable line, cut to 512 bytes. */
  readonly statusSummary?: string;
  readonly artifacts?: readonly ArtifactCommit[];
  /** The rows of a bounded run. The first of two equal keys keeps its name; the others get their place behind it. */
  readonly rows?: readonly RowSettlement[];
  /** Given for an envelope over a fleet: what changed is recorded too, where the run has a part in that. */
  readonly sweep?: SweepFinish | undefined;
  /** Entries for the history before the last one. */
  readonly events?: readonly RunEventInput[];
  readonly now?: Date;
}

const SUMMARY_BYTES = 512;

/**
 * Makes a run final. `lost` when the fence has moved on, or the run is final already, or is being assessed: that phase
 * belongs to the chunks.
 */
export function finishRun(db: Queryable, finish: RunFinish): Promise<'finished' | 'lost'> {
  const now = finish.now ?? new Date();
  const summary = finish.statusSummary === undefined ? null : boundedText(finish.statusSummary, SUMMARY_BYTES);
  return db.transaction(async (tx) => {
    const found = await lockRun(tx, finish.runId);
    if (found === undefined || found.fence !== finish.fence) return 'lost';
    if (found.phase === 'done' || found.phase === 'assess') return 'lost';
    const before = await asUnanswered(tx, found, now);
    const status = finish.status === 'completed' && endsCancelled(before.stopReason) ? 'cancelled' : finish.status;
    await commitArtifacts(tx, { runId: before.id, fence: finish.fence }, finish.artifacts ?? [], now);
    const body = await bodyWithChanges(tx, before, finish, now);
    await tx.query(
      `insert into muster.answers (run_id, tenant, session_id, kind, body, created_at)
        values ($1, $2, $3, $4, $5::json, $6)`,
      [before.id, before.tenant, before.sessionId, finish.answer.kind, JSON.stringify(body), now],
    );
    await insertRows(tx, before, finish.rows ?? [], now);
    // Chunks of a plan that was never frozen are nobody's denominator, and still hold items.
    await tx.query(`delete from muster.chunks where run_id = $1 and state = 'open'`, [before.id]);
    const { rows } = await tx.query<RunRecord>(
      `update muster.runs set status = $4, phase = 'done', answer_kind = $5, status_summary = $6,
          revision = revision + 1, finished_at = $7, updated_at = $7
        where id = $1 and revision = $2 and fence = $3 returning ${RUN_COLUMNS}`,
      [before.id, before.revision, finish.fence, status, finish.answer.kind, summary, now],
    );
    const last: RunEventInput = { kind: `run_${status}`, message: summary ?? undefined };
    await appendEvents(tx, rows[0]!, [...(finish.events ?? []), last], now);
    await closeInterruption(tx, before.id, 'dropped', now);
    await clearCheckpoints(tx, before.id);
    await condemnUploadsOf(tx, before.id);
    return 'finished';
  });
}

async function bodyWithChanges(tx: Tx, run: RunRecord, { answer, sweep }: RunFinish, now: Date): Promise<unknown> {
  if (sweep === undefined || answer.kind !== 'envelope') return answer.body;
  const { judgedBy, gaps } = sweep;
  await tx.query('savepoint before_changes');
  try {
    const recorded = await recordChanges(tx, run, { judgedBy, gaps, now });
    return recorded === undefined ? answer.body : sweep.compose(recorded);
  } catch (error) {
    // They cost time by the size of the fleet. Where that is more than a statement has, they never cost the answer: the
    // standings stay as they were, and the next sweep is compared with those.
    if (!isOutOfTime(error)) throw error;
    await tx.query('rollback to savepoint before_changes');
    return answer.body;
  }
}

/** During a redeploy, a build that knows no questions may have stopped a run that waits for a person. */
async function asUnanswered(tx: Tx, run: RunRecord, now: Date): Promise<RunRecord> {
  if (run.status !== 'interrupted' || run.stopReason === null || endsCancelled(run.stopReason)) return run;
  return await endUnanswered(tx, run, run.stopReason, now);
}

async function insertRows(tx: Tx, run: RunRecord, rows: readonly RowSettlement[], now: Date): Promise<void> {
  const names = distinctKeys(rows.map(({ key }) => storableText(key))).map((key): SubjectNames => [key, null, null]);
  const place = {
    tenant: run.tenant,
    sessionId: run.sessionId,
    runId: run.id,
    runCreatedAt: run.createdAt,
    chunkId: null,
    firstOrdinal: 0,
  };
  await insertSubjects(
    tx,
    place,
    { namesJson: keysJson(names), walkRef: null, recordingRef: null },
    packSubjects(rows),
    now,
  );
}

/** Keys are unique in a run, and rows of a chart need not be: a later one gets its place, until nothing is named so. */
function distinctKeys(keys: readonly string[]): string[] {
  const taken = new Set<string>();
  return keys.map((key, index) => {
    let name = key;
    while (taken.has(name)) name = `${name} (row ${index + 1})`;
    taken.add(name);
    return name;
  });
}
