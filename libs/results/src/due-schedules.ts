/**
 * Which schedules have something to be done: a slot that is due, or a run that is over. Many may ask at once; who gets a
 * row's lock does it, and the others go past it.
 */

import type { Queryable, Tx } from './database.ts';
import { SCHEDULE_COLUMNS, type ScheduleRecord } from './schedules.ts';

/** A process that may carry schedules out. */
export interface TickOffer {
  readonly now: Date;
  /** What it has the code of. Schedules of anything else are left to others for the patience. */
  readonly runbooks: readonly { readonly name: string; readonly version: string }[];
  readonly patienceMs: number;
}

const IS_OFFERED = `exists (select from unnest($2::text[], $3::text[]) as offered (name, version)
  where offered.name = schedules.runbook_name
    and (schedules.runbook_version is null or schedules.runbook_version = offered.version))`;

/** Ids of schedules that have something to be done, at most `limit` that are due and `limit` whose runs are over. */
export async function findTickable(db: Queryable, offer: TickOffer & { limit: number }): Promise<string[]> {
  const names = offer.runbooks.map(({ name }) => name);
  const versions = offer.runbooks.map(({ version }) => version);
  const { rows } = await db.query<{ id: string }>(
    `(select id from muster.schedules
        where state = 'active' and next_due_at <= $1 and (next_due_at <= $4 or ${IS_OFFERED})
        order by next_due_at limit $5)
      union
      (select schedules.id from muster.ticks join muster.schedules on schedules.id = ticks.schedule_id
          left join muster.runs on runs.id = ticks.run_id
        where ticks.state = 'started' and ticks.run_status is null and (runs.id is null or runs.phase = 'done')
          and (runs.id is null or runs.finished_at <= $4 or ${IS_OFFERED})
        limit $5)`,
    [offer.now, names, versions, new Date(offer.now.getTime() - offer.patienceMs), offer.limit],
  );
  return rows.map(({ id }) => id);
}

/** A schedule under its row's lock; undefined when it is gone, or somebody holds it at this moment. */
export async function claimSchedule(tx: Tx, id: string): Promise<ScheduleRecord | undefined> {
  const { rows } = await tx.query<ScheduleRecord>(
    `select ${SCHEDULE_COLUMNS} from muster.schedules where id = $1 for update skip locked`,
    [id],
  );
  return rows[0];
}

/**
 * Notes how runs of a locked schedule ended, and how many failed one after the other by now: a completed run begins the
 * count again, a cancelled one leaves it.
 *
 * @returns the failures in a row, and whether any run was over
 */
export async function noteEndedRuns(
  tx: Tx,
  schedule: ScheduleRecord,
): Promise<{ readonly failures: number; readonly ended: number }> {
  const { rows } = await tx.query<{ status: string }>(
    `with ended as (
      select ticks.id, coalesce(runs.status, 'forgotten') as status, runs.finished_at, slot
        from muster.ticks left join muster.runs on runs.id = ticks.run_id
        where schedule_id = $1 and ticks.state = 'started' and run_status is null
          and (runs.id is null or runs.phase = 'done')
    ), noted as (
      update muster.ticks set run_status = ended.status from ended where ticks.id = ended.id
    ) select status from ended order by finished_at, slot`,
    [schedule.id],
  );
  let { failures } = schedule;
  for (const { status } of rows) {
    if (status === 'failed') failures += 1;
    else if (status === 'completed') failures = 0;
  }
  if (failures !== schedule.failures) {
    await tx.query('update muster.schedules set failures = $2 where id = $1', [schedule.id, failures]);
  }
  return { failures, ended: rows.length };
}
