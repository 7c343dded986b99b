import type { Database, Queryable } from './database.ts';
import { lockDispatch } from './dispatch.ts';
import { wakeDispatcher } from './runs.ts';

/**
 * Makes everything of unfinished runs due again, for when the queue has lost all it had. Returns how many things it was.
 *
 * Fences stay: an attempt that is still at work may settle, and its job's number is too low for a second claim once the
 * thing was sent anew.
 */
export function rebuildDispatch(db: Queryable): Promise<{ runs: number; chunks: number }> {
  return db.transaction(async (tx) => {
    await lockDispatch(tx);
    const runs = await tx.query(
      `update muster.runs set dispatched_at = null where id in (
        select id from muster.runs where dispatched_at is not null and phase in ('plan', 'procedure', 'collect')
          order by id for no key update) and dispatched_at is not null`,
    );
    const chunks = await tx.query(
      `update muster.chunks set dispatched_at = null where id in (
        select id from muster.chunks where dispatched_at is not null and state = 'open'
          order by id for no key update) and dispatched_at is not null`,
    );
    await wakeDispatcher(tx);
    return { runs: runs.rowCount, chunks: chunks.rowCount };
  });
}

/** The queue as somebody sees it who looks whether it lost everything. */
export interface LosableQueue {
  isLost(): Promise<boolean>;
  /** Makes an empty store ready for jobs. */
  makeReady(): Promise<void>;
  /** Notes that what was lost is seen to: it is not lost any more. */
  noteRebuilt(): Promise<void>;
}

const REBUILD_LOCK = 7_301_153;

/**
 * Sends everything unfinished again when the queue has lost all it had: once, however many look at the same time. Returns
 * how many things it was, undefined when there was nothing to see to.
 *
 * It is noted last, so whoever dies on the way leaves the loss to be found again.
 */
export function rebuildLostQueue(
  db: Database,
  queue: LosableQueue,
): Promise<{ runs: number; chunks: number } | undefined> {
  return db.session(async (connection) => {
    // Whoever comes second waits, so that nobody begins to work in the middle of it.
    await connection.query('select pg_advisory_lock($1)', [REBUILD_LOCK]);
    if (!(await queue.isLost())) return undefined;
    await queue.makeReady();
    const rebuilt = await rebuildDispatch(connection);
    await queue.noteRebuilt();
    return rebuilt;
  });
}
