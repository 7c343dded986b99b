/**
 * Sessions: rows, owned by an API key and chosen by name (DESIGN decision 16). Those of hooks and
 * schedules are owned by no key: no caller finds one by a name of its own.
 */

import { randomUUID } from 'node:crypto';
import type { Queryable } from './database.ts';

export interface SessionRecord {
  readonly id: string;
  readonly tenant: string;
  /** Null: Muster's own. */
  readonly ownerKeyId: string | null;
  readonly name: string;
  readonly createdAt: Date;
}

/** How a caller names a session: by its id, or by its owner (null: Muster itself) and name. */
export type SessionChoice = { readonly id: string } | { readonly keyId: string | null; readonly name: string };

const SESSION_COLUMNS = 'id, tenant, owner_key_id as "ownerKeyId", name, created_at as "createdAt"';

/** The owner's session of that name, made when it is not there. */
export async function ensureSession(
  db: Queryable,
  input: { tenant: string; keyId: string | null; name: string; id?: string; now?: Date },
): Promise<SessionRecord> {
  const { tenant, keyId, name } = input;
  const found = await findSession(db, tenant, { keyId, name });
  if (found !== undefined) return found;
  await db.query(
    `insert into muster.sessions (id, tenant, owner_key_id, name, created_at) values ($1, $2, $3, $4, $5)
      on conflict do nothing`,
    [input.id ?? randomUUID(), tenant, keyId, name, input.now ?? new Date()],
  );
  return (await findSession(db, tenant, { keyId, name }))!;
}

/** The session, or undefined when this tenant has none such. */
export async function findSession(
  db: Queryable,
  tenant: string,
  choice: SessionChoice,
): Promise<SessionRecord | undefined> {
  const [which, values] = whichSession(choice);
  const { rows } = await db.query<SessionRecord>(
    `select ${SESSION_COLUMNS} from muster.sessions where tenant = $1 and ${which}`,
    [tenant, ...values],
  );
  return rows[0];
}

function whichSession(choice: SessionChoice): [which: string, values: string[]] {
  if ('id' in choice) return ['id = $2', [choice.id]];
  if (choice.keyId === null) return ['owner_key_id is null and name = $2', [choice.name]];
  return ['owner_key_id = $2 and name = $3', [choice.keyId, choice.name]];
}
