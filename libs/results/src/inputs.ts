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

/** Keeps an input; the one that is there stays. */
export async function keepInput(tx: Tx, tenant: string, input: CanonicalInput, now: Date): Promise<void> {
  await tx.query(
    `insert into muster.inputs (tenant, digest, body, created_at) values ($1, $2, $3::json, $4)
      on conflict (tenant, digest) do nothing`,
    [tenant, input.digest, input.canonical, now],
  );
}
