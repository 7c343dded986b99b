import type { Queryable } from './database.ts';
import { appendEvents } from './run-events.ts';
import type { RunRecord } from './run-record.ts';
import { RUN_COLUMNS } from './run-record.ts';

/**
 * Writes one progress mark into the history. Marks are whole percents and only rise, so a run has at most 100 of them
 * whoever calls how often.
 *
 * @param percent 1 to 100; anything at or below the last mark changes nothing
 * @returns whether a mark was written
 */
export async function markProgress(
  db: Queryable,
  runId: string,
  percent: number,
  now: Date = new Date(),
): Promise<boolean> {
  const mark = Math.min(100, Math.trunc(percent));
  return db.transaction(async (tx) => {
    const { rows } = await tx.query<RunRecord>(
      `update muster.runs set progress_mark = $2, revision = revision + 1, updated_at = $3
        where id = $1 and progress_mark < $2::int and phase = 'assess' and status = 'running'
        returning ${RUN_COLUMNS}`,
      [runId, mark, now],
    );
    const run = rows[0];
    if (run === undefined) return false;
    const settled = await tx.query<{ settled: number }>(
      `select coalesce(sum(size), 0) as settled from muster.chunks where run_id = $1 and state = 'settled'`,
      [runId],
    );
    await appendEvents(
      tx,
      run,
      [
        {
          kind: 'vertex_completed',
          vertexId: `assess-${mark}`,
          vertexLabel: 'assess',
          completedVertices: settled.rows[0]!.settled,
          totalVertices: run.subjectsTotal ?? 0,
          message: `${mark} % of the subjects are settled`,
        },
      ],
      now,
    );
    return true;
  });
}
