/**
 * Monthly partitions of the subject rows, by the instant their run was accepted (UTC).
 *
 * Rows that came before their month's partition stand in the default one; making the partition moves them over, so a
 * store whose maintenance slept for months loses nothing.
 */

import type { Database, Queryable } from './database.ts';

/** This month and the next two: maintenance that runs once a day may fail for weeks. */
const MONTHS_AHEAD = 2;
const PARTITION_LOCK = 7_301_151;

/** Makes the partitions of this month and the next two; those that are there stay. Returns the names of new ones. */
export function ensurePartitions(db: Database, now: Date): Promise<string[]> {
  return createPartitions(db, now);
}

/** {@link ensurePartitions} for a connection at hand. */
export async function createPartitions(db: Queryable, now: Date): Promise<string[]> {
  const created: string[] = [];
  for (let ahead = 0; ahead <= MONTHS_AHEAD; ahead += 1) {
    const from = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead, 1));
    const to = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead + 1, 1));
    const name = `subjects_${from.toISOString().slice(0, 7).replace('-', '_')}`;
    if (await createPartition(db, name, from, to)) created.push(name);
  }
  return created;
}

async function createPartition(db: Queryable, name: string, from: Date, to: Date): Promise<boolean> {
  return db.transaction(async (tx) => {
    await tx.query('select pg_advisory_xact_lock($1)', [PARTITION_LOCK]);
    const { rows } = await tx.query<{ exists: boolean }>('select to_regclass($1) is not null as exists', [
      `muster.${name}`,
    ]);
    if (rows[0]?.exists) return false;
    // Attaching a filled table locks readers out for less time than creating a partition in place.
    await tx.query(`create table muster.${name} (like muster.subjects including defaults including constraints)`);
    await tx.query('lock table muster.subjects_default in access exclusive mode');
    await tx.query(
      `with moved as (
        delete from muster.subjects_default where run_created_at >= $1 and run_created_at < $2 returning *
      ) insert into muster.${name} select * from moved`,
      [from, to],
    );
    await tx.query(
      `alter table muster.subjects attach partition muster.${name}
        for values from ('${from.toISOString()}') to ('${to.toISOString()}')`,
    );
    return true;
  });
}
