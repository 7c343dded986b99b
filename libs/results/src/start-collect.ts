/**
 * The way from assess to collect (DESIGN decision 3): a conditional update after the settlement has committed, won by
 * exactly one. Counting open chunks inside the settling transactions would let two of them miss each other.
 */

import type { Queryable } from './database.ts';
import { appendEvents } from './run-events.ts';
import type { RunRecord } from './run-record.ts';
import { RUN_COLUMNS, RUN_IS_ASSESSED } from './run-record.ts';
import { wakeDispatcher } from './runs.ts';

/** Moves the run on to collect when no chunk is open. Call it after the settlement's commit. True for the one who won. */
export function startCollect(db: Queryable, runId: string, now: Date = new Date()): Promise<boolean> {
  return db.transaction(async (tx) => {
    const { rows } = await tx.query<RunRecord>(
      `update muster.runs set phase = 'collect', dispatched_at = null, starts = 0, revision = revision + 1, updated_at = $2
        where id = $1 and phase = 'assess'
          and not exists (select from muster.chunks where chunks.run_id = runs.id and chunks.state = 'open')
        returning ${RUN_COLUMNS}`,
      [runId, now],
    );
    const run = rows[0];
    if (run === undefined) return false;
    const total = run.subjectsTotal ?? 0;
    await appendEvents(
      tx,
      run,
      [
        {
          kind: 'vertex_completed',
          vertexId: 'assess',
          vertexLabel: 'assess',
          completedVertices: total,
          totalVertices: total,
        },
      ],
      now,
    );
    await wakeDispatcher(tx);
    return true;
  });
}

/**
 * Moves on the runs whose last settler died between its commit and {@link startCollect}. Returns their ids. The
 * dispatcher calls it now and then.
 */
export async function startReadyCollects(db: Queryable, query: { limit: number; now?: Date }): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `select id from muster.runs where ${RUN_IS_ASSESSED}
        and not exists (select from muster.chunks where chunks.run_id = runs.id and chunks.state = 'open')
      order by created_at, id limit $1`,
    [query.limit],
  );
  const moved: string[] = [];
  for (const { id } of rows) {
    if (await startCollect(db, id, query.now ?? new Date())) moved.push(id);
  }
  return moved;
}
