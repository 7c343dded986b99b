/**
 * A run's history (workflow-tools contract).
 *
 * Invariants:
 * - entries are written under the run row's lock, with the revision that the same transaction gave the run: a reader
 *   who has seen revision n will never meet a new entry at or below it;
 * - event ids are derived from run, revision and place, so reading twice gives the same ids;
 * - text is bounded and printable.
 */

import { createHash } from 'node:crypto';
import { boundedText } from './bounded-text.ts';
import type { Queryable, Tx } from './database.ts';
import { UnknownCursorError } from './errors.ts';
import type { RunScope, RunStatus } from './run-record.ts';
import { runInScope, tellChanged } from './runs.ts';

export type RunEventKind =
  | 'run_started'
  | 'vertex_completed'
  | 'run_interrupted'
  | 'run_resumed'
  | 'run_completed'
  | 'run_cancelled'
  | 'run_failed';

/** An entry to be written; the rest comes from the run. */
export interface RunEventInput {
  readonly kind: RunEventKind;
  readonly vertexId?: string;
  readonly vertexLabel?: string;
  readonly completedVertices?: number;
  readonly totalVertices?: number;
  readonly message?: string;
}

/** One entry of the history. */
export interface RunEvent {
  readonly revision: number;
  readonly seq: number;
  readonly eventId: string;
  readonly kind: RunEventKind;
  readonly runStatus: RunStatus;
  readonly vertexId: string | null;
  readonly vertexLabel: string | null;
  readonly completedVertices: number | null;
  readonly totalVertices: number | null;
  readonly message: string | null;
  readonly occurredAt: Date;
}

/**
 * A page of the history. `nextRevision` is there when more entries follow; with `nextEventId` when the revision that
 * was given last is not read to its end. Both together are the cursor of the next page.
 */
export interface RunEventPage {
  readonly entries: readonly RunEvent[];
  readonly nextRevision?: number;
  readonly nextEventId?: string;
}

const LABEL_BYTES = 128;
const MESSAGE_BYTES = 512;

const EVENT_COLUMNS = `revision, seq, event_id as "eventId", kind, run_status as "runStatus", vertex_id as "vertexId",
  vertex_label as "vertexLabel", completed_vertices as "completedVertices", total_vertices as "totalVertices", message,
  occurred_at as "occurredAt"`;

/**
 * Reads the history in order, after a cursor.
 *
 * @param query `afterRevision` alone skips that revision whole; with `afterEventId` it goes on behind that entry.
 * @returns undefined when the run is not visible in this scope
 * @throws UnknownCursorError when `afterEventId` is no entry of this run
 */
export async function listEvents(
  db: Queryable,
  query: RunScope & { afterRevision?: number; afterEventId?: string; limit: number },
): Promise<RunEventPage | undefined> {
  if ((await runInScope(db, query)) === undefined) return undefined;
  const after = await readCursor(db, query);
  const { rows } = await db.query<RunEvent>(
    `select ${EVENT_COLUMNS} from muster.run_events
      where tenant = $1 and run_id = $2 and (revision, seq) > ($3::int, $4::int)
      order by revision, seq limit $5`,
    [query.tenant, query.runId, after.revision, after.seq, query.limit + 1],
  );
  const entries = rows.slice(0, query.limit);
  const last = entries.at(-1);
  const following = rows[query.limit];
  if (last === undefined || following === undefined) return { entries };
  if (following.revision !== last.revision) return { entries, nextRevision: last.revision };
  return { entries, nextRevision: last.revision, nextEventId: last.eventId };
}

/** The id of the entry at this place of this run: a UUID made of their digest. */
export function deriveEventId(runId: string, revision: number, seq: number): string {
  const bytes = createHash('sha256').update(`${runId}/${revision}/${seq}`).digest().subarray(0, 16);
  // Version 8 (free form) and the RFC's variant, so that readers who check UUIDs are content.
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** Writes entries for a revision that this transaction has just given to the run, and tells who waits for changes of it. */
export async function appendEvents(
  tx: Tx,
  run: { id: string; tenant: string; sessionId: string; revision: number; status: RunStatus },
  events: readonly RunEventInput[],
  now: Date,
): Promise<void> {
  for (const [seq, event] of events.entries()) {
    await tx.query(
      `insert into muster.run_events (run_id, tenant, session_id, revision, seq, event_id, kind, run_status, vertex_id,
        vertex_label, completed_vertices, total_vertices, message, occurred_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
      [
        run.id,
        run.tenant,
        run.sessionId,
        run.revision,
        seq,
        deriveEventId(run.id, run.revision, seq),
        event.kind,
        run.status,
        bounded(event.vertexId, LABEL_BYTES),
        bounded(event.vertexLabel, LABEL_BYTES),
        event.completedVertices ?? null,
        event.totalVertices ?? null,
        bounded(event.message, MESSAGE_BYTES),
        now,
      ],
    );
  }
  await tellChanged(tx, run.id);
}

function bounded(text: string | undefined, maxBytes: number): string | null {
  return text === undefined ? null : boundedText(text, maxBytes);
}

async function readCursor(
  db: Queryable,
  query: RunScope & { afterRevision?: number; afterEventId?: string },
): Promise<{ revision: number; seq: number }> {
  // No revision has this many entries: the whole of it is behind the cursor.
  if (query.afterEventId === undefined) return { revision: query.afterRevision ?? 0, seq: 32_767 };
  const { rows } = await db.query<{ revision: number; seq: number }>(
    'select revision, seq from muster.run_events where tenant = $1 and run_id = $2 and event_id = $3',
    [query.tenant, query.runId, query.afterEventId],
  );
  const found = rows[0];
  if (found === undefined || (query.afterRevision !== undefined && found.revision !== query.afterRevision)) {
    throw new UnknownCursorError(query.afterEventId);
  }
  return found;
}
