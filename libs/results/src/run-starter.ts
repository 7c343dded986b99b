import type { Queryable } from './database.ts';
import type { RunRecord } from './run-record.ts';

/**
 * Whether a key stands behind a run: it owns the run's session, gave the run's schedule its form, or asked for it by hand.
 * Who may not answer for itself is told by this.
 */
export async function isStarter(
  db: Queryable,
  run: Pick<RunRecord, 'id' | 'tenant' | 'sessionId'>,
  keyId: string,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from muster.sessions where tenant = $1 and id = $2 and owner_key_id = $4
      union all
      select from muster.ticks join muster.schedules on schedules.id = ticks.schedule_id
        where ticks.tenant = $1 and ticks.run_id = $3 and (asked_by = $4 or schedules.owner_key_id = $4)`,
    [run.tenant, run.sessionId, run.id, keyId],
  );
  return rowCount > 0;
}
