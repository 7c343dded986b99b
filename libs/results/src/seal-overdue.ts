import type { Queryable } from './database.ts';
import { stopRun } from './stop-run.ts';

/**
 * Stops the runs whose deadline has come, at most `limit` of them, the longest overdue first. Returns their ids.
 *
 * A run in collect is left alone: there is nothing more to assess, and its answer must not say that something was cut
 * off. A row that somebody holds at this moment is left for the next call.
 */
export function sealOverdue(db: Queryable, query: { now: Date; limit: number }): Promise<string[]> {
  return db.transaction(async (tx) => {
    const { rows } = await tx.query<{ id: string }>(
      `select id from muster.runs
        where deadline_at <= $1 and stop_reason is null and phase in ('procedure', 'plan', 'assess')
        order by deadline_at, id limit $2 for no key update skip locked`,
      [query.now, query.limit],
    );
    for (const { id } of rows) await stopRun(tx, { runId: id, stopReason: 'deadline', now: query.now });
    return rows.map(({ id }) => id);
  });
}
