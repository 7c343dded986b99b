/**
 * Monthly partitions of the subject rows, by the instant their run was accepted (UTC).
 *
 * Rows that came before their month's partition stand in the default one; making the partition moves them over, so a
 * store whose maintenance slept for months loses nothing.
 */

import type { Database, Queryable } from './database.ts';
import { StatementRefusedError } from './errors.ts';

/** This month and the next two: maintenance that runs once a day may fail for weeks. */
const MONTHS_AHEAD = 2;
const PARTITION_LOCK = 7_301_151;
const DROP_WAIT_MS = 1_000;
const LOCK_NOT_AVAILABLE = '55P03';

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

/**
 * Drops the monthly partitions that end before an instant and hold no rows any more. Returns their names. One that readers
 * hold for longer than a moment is left for the next call: while this waits, everybody else waits behind it.
 */
export async function dropEmptyPartitions(db: Queryable, query: { before: Date }): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(
    `select part.relname as name from pg_inherits join pg_class part on part.oid = pg_inherits.inhrelid
      where pg_inherits.inhparent = 'muster.subjects'::regclass order by part.relname`,
  );
  const dropped: string[] = [];
  for (const { name } of rows) {
    const end = endOfMonth(name);
    if (end === undefined || end > query.before || !(await isEmpty(db, name))) continue;
    if (await dropPartition(db, name)) dropped.push(name);
  }
  return dropped;
}

async function dropPartition(db: Queryable, name: string): Promise<boolean> {
  try {
    return await db.transaction(async (tx) => {
      await tx.query(`set local lock_timeout = '${DROP_WAIT_MS}ms'`);
      await tx.query('select pg_advisory_xact_lock($1)', [PARTITION_LOCK]);
      // The parent first, as everybody does who reads or writes through it.
      await tx.query('lock table muster.subjects in access exclusive mode');
      const { rows } = await tx.query<{ exists: boolean }>('select to_regclass($1) is not null as exists', [
        `muster.${name}`,
      ]);
      if (!rows[0]!.exists || !(await isEmpty(tx, name))) return false;
      await tx.query(`drop table muster.${name}`);
      return true;
    });
  } catch (error) {
    if (error instanceof StatementRefusedError && error.sqlState === LOCK_NOT_AVAILABLE) return false;
    throw error;
  }
}

/** `name` is one that the catalog gave, and {@link endOfMonth} has read. */
async function isEmpty(db: Queryable, name: string): Promise<boolean> {
  const { rows } = await db.query<{ empty: boolean }>(`select not exists (select from muster.${name}) as empty`);
  return rows[0]!.empty;
}

/** The instant at which a month's partition ends; undefined for the default one. */
function endOfMonth(name: string): Date | undefined {
  const [, year, month] = /^subjects_(\d{4})_(\d{2})$/.exec(name) ?? [];
  return year === undefined ? undefined : new Date(Date.UTC(Number(year), Number(month), 1));
}
