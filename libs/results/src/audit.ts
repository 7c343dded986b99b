/** What people did, append-only: the database itself refuses to change or delete a row of it. */

import type { Queryable } from './database.ts';

/** An entry to be written. `details` hold ids, words and numbers; never a secret, and nothing that is not bounded. */
export interface AuditInput {
  readonly tenant: string;
  /** The key that did it; left out: Muster itself. */
  readonly keyId?: string | undefined;
  /** A word such as `run_cancelled`. */
  readonly action: string;
  readonly runId?: string | undefined;
  readonly interruptionId?: string | undefined;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  readonly now?: Date | undefined;
}

export interface AuditRecord {
  readonly id: number;
  readonly at: Date;
  readonly keyId: string | null;
  readonly action: string;
  readonly runId: string | null;
  readonly interruptionId: string | null;
  readonly details: unknown;
}

/** A page, newest first; `nextAfter` is there when more follow. */
export interface AuditPage {
  readonly entries: readonly AuditRecord[];
  readonly nextAfter?: number;
}

/** Writes an entry, in the transaction that does what it tells of. */
export async function appendAudit(db: Queryable, entry: AuditInput): Promise<void> {
  await db.query(
    `insert into muster.audit (tenant, at, key_id, action, run_id, interruption_id, details)
      values ($1, $2, $3, $4, $5, $6, $7::json)`,
    [
      entry.tenant,
      entry.now ?? new Date(),
      entry.keyId ?? null,
      entry.action,
      entry.runId ?? null,
      entry.interruptionId ?? null,
      entry.details === undefined ? null : JSON.stringify(entry.details),
    ],
  );
}

/** The tenant's entries, or those of one run, newest first. Entries that come meanwhile do not move what is behind. */
export async function listAudit(
  db: Queryable,
  query: { tenant: string; runId?: string | undefined; after?: number | undefined; limit: number },
): Promise<AuditPage> {
  const { rows } = await db.query<AuditRecord>(
    `select id, at, key_id as "keyId", action, run_id as "runId", interruption_id as "interruptionId", details
      from muster.audit
      where tenant = $1 and ($2::uuid is null or run_id = $2) and ($3::bigint is null or id < $3)
      order by id desc limit $4`,
    [query.tenant, query.runId ?? null, query.after ?? null, query.limit + 1],
  );
  const entries = rows.slice(0, query.limit);
  return rows.length > entries.length ? { entries, nextAfter: entries.at(-1)!.id } : { entries };
}
