/**
 * The error budget: a sweep whose subjects fail everywhere is stopped before it has hammered the whole fleet.
 *
 * Like the way to collect (start-collect.ts) it is looked at after a settlement has committed, so the last of several
 * settlers sees what all of them have counted.
 */

import type { Queryable, Tx } from './database.ts';
import { lockRun } from './runs.ts';
import { stopRun } from './stop-run.ts';

interface BudgetStand {
  readonly count: number | null;
  readonly percent: number | null;
  readonly failed: number;
  readonly settled: number;
}

/**
 * Stops a run whose settled subjects have failed more often than its budget allows: more than the number, or more than
 * the percentage of the subjects settled. Only a settlement with failures can bring that about, so call it after those,
 * and only when there is something left to assess (startCollect did not win): a run in collect is never stopped.
 *
 * @param check a percentage counts from `minimumSettled` settled subjects on, because the first few say little
 * @returns whether this call stopped it
 */
export async function checkErrorBudget(
  db: Queryable,
  check: { runId: string; minimumSettled: number; now?: Date },
): Promise<boolean> {
  const stand = await readStand(db, check.runId);
  if (stand === undefined || !isOver(stand, check.minimumSettled)) return false;
  return db.transaction(async (tx) => {
    if ((await lockRun(tx, check.runId))?.phase !== 'assess') return false;
    return (await stopRun(tx, { runId: check.runId, stopReason: 'error_budget', now: check.now })) === 'stopped';
  });
}

/**
 * Judges the canaries that are settled: a run whose canary is over the error budget is stopped before anything else of it
 * is sent, every other one goes on with its next wave. Here no settled subject is too few for a percentage: the canary is
 * the sample that was asked for. The dispatcher calls it, in the transaction that takes what is due.
 */
export async function judgeCanaries(tx: Tx, query: { limit: number; now: Date }): Promise<void> {
  const { rows } = await tx.query<{ id: string }>(
    `select id from muster.runs
      where canary_percent is not null and canary_passed_at is null and stop_reason is null and phase = 'assess'
        and not exists (
          select from muster.chunks where chunks.run_id = runs.id and chunks.state = 'open' and chunks.wave = 0)
        and exists (select from muster.chunks where chunks.run_id = runs.id and chunks.state = 'open')
      order by created_at, id limit $1`,
    [query.limit],
  );
  for (const { id } of rows) {
    if (await checkErrorBudget(tx, { runId: id, minimumSettled: 1, now: query.now })) continue;
    await tx.query('update muster.runs set canary_passed_at = $2, updated_at = $2 where id = $1', [id, query.now]);
  }
}

function isOver({ count, percent, failed, settled }: BudgetStand, minimumSettled: number): boolean {
  if (count !== null) return failed > count;
  if (percent === null || settled < minimumSettled) return false;
  return failed * 100 > percent * settled;
}

async function readStand(db: Queryable, runId: string): Promise<BudgetStand | undefined> {
  const { rows } = await db.query<BudgetStand>(
    `select runs.error_budget_count as count, runs.error_budget_percent as percent, sums.failed, sums.settled
      from muster.runs cross join lateral (
        select coalesce(sum(failed_count), 0) as failed, coalesce(sum(size), 0) as settled
          from muster.chunks where chunks.run_id = runs.id and chunks.state = 'settled'
      ) sums
      where runs.id = $1 and runs.stop_reason is null
        and (runs.error_budget_count is not null or runs.error_budget_percent is not null)`,
    [runId],
  );
  return rows[0];
}
