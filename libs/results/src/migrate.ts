/**
 * Bringing the schema up to this build.
 *
 * Invariants:
 * - one session holds the advisory lock, so starts at the same time wait for each other and then find nothing to do;
 * - each step and its line in `schema_versions` are one transaction;
 * - a schema that a newer build only added to is accepted; one with an unknown breaking step is refused untouched.
 */

import type { Database, Queryable } from './database.ts';
import { MigrationFailedError, SchemaTooNewError } from './errors.ts';
import type { Migration } from './migrations.ts';
import { MIGRATIONS } from './migrations.ts';
import { createPartitions } from './subject-partitions.ts';

/** The newest step that a database has. Version 0: none. */
export interface SchemaVersion {
  readonly version: number;
  readonly name: string;
  readonly breaking: boolean;
}

/** What a migration did. */
export interface MigrationReport {
  readonly applied: readonly SchemaVersion[];
  readonly current: SchemaVersion;
}

/** Advisory lock numbers of this room; any two constants that nobody else uses. */
const MIGRATION_LOCK = 7_301_150;

/**
 * Applies the steps that are missing, and makes the partitions for the months around `now`.
 *
 * @throws SchemaTooNewError when the database has a breaking step that this build does not know
 * @throws MigrationFailedError when the database refuses a step
 */
export async function migrate(
  db: Database,
  options: { now?: Date; migrations?: readonly Migration[] } = {},
): Promise<MigrationReport> {
  const migrations = options.migrations ?? MIGRATIONS;
  return db.session(async (connection) => {
    await connection.query('select pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await prepareSchema(connection);
    const present = await appliedVersions(connection);
    refuseUnknownBreaking(present, migrations);
    const applied: SchemaVersion[] = [];
    for (const migration of migrations) {
      if (present.some((version) => version.version === migration.version)) continue;
      await applyMigration(connection, migration, options.now ?? new Date());
      applied.push({ version: migration.version, name: migration.name, breaking: migration.breaking });
    }
    await createPartitions(connection, options.now ?? new Date());
    return { applied, current: newest([...present, ...applied]) };
  });
}

/** The newest step that the database has, also when this build does not know it. */
export async function schemaVersion(db: Queryable): Promise<SchemaVersion> {
  const { rows } = await db.query<{ exists: boolean }>(
    `select to_regclass('muster.schema_versions') is not null as exists`,
  );
  return rows[0]?.exists ? newest(await appliedVersions(db)) : newest([]);
}

async function prepareSchema(connection: Queryable): Promise<void> {
  await connection.transaction(async (tx) => {
    await tx.query('create schema if not exists muster');
    await tx.query(
      `create table if not exists muster.schema_versions (
        version integer primary key, name text not null, breaking boolean not null, applied_at timestamptz not null
      )`,
    );
  });
}

async function appliedVersions(connection: Queryable): Promise<SchemaVersion[]> {
  const { rows } = await connection.query<SchemaVersion>(
    'select version, name, breaking from muster.schema_versions order by version',
  );
  return rows;
}

function refuseUnknownBreaking(present: readonly SchemaVersion[], migrations: readonly Migration[]): void {
  const known = new Set(migrations.map((migration) => migration.version));
  const unknown = present.filter((version) => version.breaking && !known.has(version.version)).at(-1);
  if (unknown !== undefined) throw new SchemaTooNewError(unknown, migrations.at(-1)?.version ?? 0);
}

async function applyMigration(connection: Queryable, migration: Migration, now: Date): Promise<void> {
  const sql = await migration.sql();
  try {
    await connection.transaction(async (tx) => {
      await tx.query(sql);
      await tx.query(
        'insert into muster.schema_versions (version, name, breaking, applied_at) values ($1, $2, $3, $4)',
        [migration.version, migration.name, migration.breaking, now],
      );
    });
  } catch (error) {
    throw new MigrationFailedError(migration.version, migration.name, error);
  }
}

function newest(versions: readonly SchemaVersion[]): SchemaVersion {
  return versions.reduce((best, version) => (version.version > best.version ? version : best), {
    version: 0,
    name: 'empty',
    breaking: false,
  });
}
