/**
 * Retention, second half: the rows go, once the artifacts are gone.
 *
 * Invariants:
 * - a run goes in one transaction with its answer, history, chunks and claims on uploads, so nobody reads half of one;
 *   it leaves a note behind in the same transaction;
 * - its subject rows and its changes go after it in batches; the note goes last, so whoever comes next finishes what was begun;
 * - inputs and definitions go with the last run that names them;
 * - standings stay: they are what the next sweep is compared with.
 */

import type { Queryable, Tx } from './database.ts';
import { dropUnusedDefinition } from './definitions.ts';
import { dropUnusedInput } from './inputs.ts';

const SUBJECT_BATCH = 5_000;
/** Notes of crashed calls that one call finishes. */
const LEFTOVER_RUNS = 100;

/**
 * Forgets runs, and finishes what an earlier call left. Runs that are not final, have artifacts left, or are named by
 * another run stay. Returns the ids of those forgotten.
 */
export async function forgetRuns(db: Queryable, runIds: readonly string[]): Promise<string[]> {
  const forgotten: string[] = [];
  for (const runId of runIds) {
    if (await db.transaction((tx) => forgetRun(tx, runId))) forgotten.push(runId);
  }
  await deleteLeftSubjects(db);
  return forgotten;
}

async function forgetRun(tx: Tx, runId: string): Promise<boolean> {
  const { rows } = await tx.query<{ tenant: string; inputDigest: string; definitionDigest: string }>(
    `select tenant, input_digest as "inputDigest", definition_digest as "definitionDigest" from muster.runs
      where id = $1 and phase = 'done' for update`,
    [runId],
  );
  const run = rows[0];
  if (run === undefined) return false;
  // A second statement sees the run of an acceptance that the lock had to wait for.
  const { rowCount } = await tx.query(
    `with gone as (
      delete from muster.runs where id = $1
        and not exists (select from muster.artifacts where artifacts.run_id = runs.id)
        and not exists (select from muster.runs child where child.parent_run_id = runs.id)
        and not exists (select from muster.runs again where again.rerun_of = runs.id)
      returning id, created_at
    ) insert into muster.forgotten_runs (run_id, run_created_at) select id, created_at from gone`,
    [runId],
  );
  if (rowCount === 0) return false;
  // In the order in which an acceptance takes them.
  await dropUnusedDefinition(tx, run.definitionDigest);
  await dropUnusedInput(tx, { tenant: run.tenant, digest: run.inputDigest });
  return true;
}

async function deleteLeftSubjects(db: Queryable): Promise<void> {
  for (;;) {
    const { rows } = await db.query<{ runId: string; createdAt: Date }>(
      'select run_id as "runId", run_created_at as "createdAt" from muster.forgotten_runs order by run_id limit $1',
      [LEFTOVER_RUNS],
    );
    for (const { runId, createdAt } of rows) {
      while ((await deleteSubjectBatch(db, runId, createdAt)) === SUBJECT_BATCH);
      while ((await deleteChangeBatch(db, runId)) === SUBJECT_BATCH);
      await db.query('delete from muster.forgotten_runs where run_id = $1', [runId]);
    }
    if (rows.length < LEFTOVER_RUNS) return;
  }
}

async function deleteSubjectBatch(db: Queryable, runId: string, createdAt: Date): Promise<number> {
  const { rowCount } = await db.query(
    `delete from muster.subjects where run_created_at = $1 and run_id = $2 and ordinal = any(array(
      select ordinal from muster.subjects where run_created_at = $1 and run_id = $2 order by ordinal limit $3))`,
    [createdAt, runId, SUBJECT_BATCH],
  );
  return rowCount;
}

async function deleteChangeBatch(db: Queryable, runId: string): Promise<number> {
  const { rowCount } = await db.query(
    `delete from muster.changes where run_id = $1 and ordinal = any(array(
      select ordinal from muster.changes where run_id = $1 order by ordinal limit $2))`,
    [runId, SUBJECT_BATCH],
  );
  return rowCount;
}
