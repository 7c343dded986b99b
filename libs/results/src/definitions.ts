/** Definitions by digest: what an answer needs of a runbook even when no worker has its code any more. */

import type { Queryable, Tx } from './database.ts';

export interface DefinitionRecord {
  readonly digest: string;
  readonly name: string;
  readonly version: string;
  readonly declaration: unknown;
}

/** The definition, or undefined. Definitions belong to no tenant: a digest names its content. */
export async function getDefinition(db: Queryable, digest: string): Promise<DefinitionRecord | undefined> {
  const { rows } = await db.query<DefinitionRecord>(
    'select digest, name, version, declaration from muster.definitions where digest = $1',
    [digest],
  );
  return rows[0];
}

/** Keeps a definition; the first one of a digest stays, until this transaction ends at least. */
export async function keepDefinition(tx: Tx, definition: DefinitionRecord, now: Date): Promise<void> {
  for (;;) {
    await tx.query(
      `insert into muster.definitions (digest, name, version, declaration, created_at)
        values ($1, $2, $3, $4::json, $5) on conflict (digest) do nothing`,
      [definition.digest, definition.name, definition.version, JSON.stringify(definition.declaration ?? null), now],
    );
    // The last run that used it may be forgotten at this moment, and the definition with it.
    const { rowCount } = await tx.query('select digest from muster.definitions where digest = $1 for key share', [
      definition.digest,
    ]);
    if (rowCount === 1) return;
  }
}

/** Deletes a definition that no run uses any more. */
export async function dropUnusedDefinition(tx: Tx, digest: string): Promise<void> {
  await tx.query('select digest from muster.definitions where digest = $1 for update', [digest]);
  // A second statement sees the run of an acceptance that the lock had to wait for.
  await tx.query(
    `delete from muster.definitions where digest = $1 and not exists (
      select from muster.runs where runs.definition_digest = definitions.digest)`,
    [digest],
  );
}
