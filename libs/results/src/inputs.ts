/** Canonical inputs by digest, one table a tenant: equal inputs of two tenants are two rows. */

import type { Queryable, Tx } from './database.ts';
import type { RunScope } from './run-record.ts';

/** An input as it is kept: the canonical JSON text and its SHA-256, both made by the caller. */
export interface CanonicalInput {
  readonly digest: string;
  readonly canonical: string;
}

/** The input of a run, parsed; undefined when the run is not visible in this scope. */
export async function getRunInput(db: Queryable, scope: RunScope): Promise<{ body: unknown } | undefined> {
  const { rows } = await db.query<{ body: unknown }>(
    `select inputs.body from muster.runs
      join muster.inputs on inputs.tenant = runs.tenant and inputs.digest = runs.input_digest
      where runs.id = $1 and runs.tenant = $2 and ($3::uuid is null or runs.session_id = $3)`,
    [scope.runId, scope.tenant, scope.sessionId ?? null],
  );
  return rows[0];
}

/** Keeps an input; the one that is there stays, until this transaction ends at least. */
export async function keepInput(tx: Tx, tenant: string, input: CanonicalInput, now: Date): Promise<void> {
  for (;;) {
    await tx.query(
      `insert into muster.inputs (tenant, digest, body, created_at) values ($1, $2, $3::json, $4)
        on conflict (tenant, digest) do nothing`,
      [tenant, input.digest, input.canonical, now],
    );
    // The last run that used it may be forgotten at this moment, and the input with it.
    const { rowCount } = await tx.query(
      'select digest from muster.inputs where tenant = $1 and digest = $2 for key share',
      [tenant, input.digest],
    );
    if (rowCount === 1) return;
  }
}

/** Deletes an input that no run uses any more. */
export async function dropUnusedInput(tx: Tx, input: { tenant: string; digest: string }): Promise<void> {
  const values = [input.tenant, input.digest];
  await tx.query('select digest from muster.inputs where tenant = $1 and digest = $2 for update', values);
  // A second statement sees the run of an acceptance that the lock had to wait for.
  await tx.query(
    `delete from muster.inputs where tenant = $1 and digest = $2 and not exists (
      select from muster.runs where runs.tenant = inputs.tenant and runs.input_digest = inputs.digest)`,
    values,
  );
}
