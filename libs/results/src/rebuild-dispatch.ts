import type { Queryable } from './database.ts';
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
