/**
 * API keys: 256 random bits, shown once, stored as SHA-256. A fast hash is right here, because nobody can guess 256
 * bits; the look-up goes by the hash, so it takes the same way for every string.
 */

import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { Queryable } from './database.ts';

export type ApiRole = 'reader' | 'runner' | 'approver' | 'admin';

/** A key as it is stored, without anything to open a door with. */
export interface ApiKeyRecord {
  readonly id: string;
  readonly tenant: string;
  readonly name: string;
  readonly role: ApiRole;
  /** Sees the runs of its whole tenant through doors that are bound to a session. */
  readonly tenantWide: boolean;
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
  readonly lastUsedAt: Date | null;
}

const KEY_COLUMNS = `id, tenant, name, role, tenant_wide as "tenantWide", created_at as "createdAt", revoked_at as "revokedAt",
  last_used_at as "lastUsedAt"`;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** 62^43 is the first power above 2^256. */
const KEY_LENGTH = 43;

/** Makes a key. `key` is given here and never again. */
export async function createApiKey(
  db: Queryable,
  input: { tenant: string; name: string; role: ApiRole; tenantWide?: boolean; id?: string; now?: Date },
): Promise<{ id: string; key: string }> {
  const id = input.id ?? randomUUID();
  const key = `mk_${base62(randomBytes(32))}`;
  await db.query(
    `insert into muster.api_keys (id, tenant, name, role, tenant_wide, key_hash, created_at)
      values ($1, $2, $3, $4, $5, $6, $7)`,
    [id, input.tenant, input.name, input.role, input.tenantWide ?? false, hashKey(key), input.now ?? new Date()],
  );
  return { id, key };
}

/**
 * Registers a key that was made elsewhere (a key file that outlived its database). False when the key is there already,
 * revoked or not.
 */
export async function registerApiKey(
  db: Queryable,
  input: { tenant: string; name: string; role: ApiRole; key: string; now?: Date },
): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into muster.api_keys (id, tenant, name, role, key_hash, created_at)
      values ($1, $2, $3, $4, $5, $6) on conflict (key_hash) do nothing`,
    [randomUUID(), input.tenant, input.name, input.role, hashKey(input.key), input.now ?? new Date()],
  );
  return rowCount === 1;
}

/** The key's record; undefined for unknown, malformed and revoked keys alike. */
export async function findApiKey(db: Queryable, key: string): Promise<ApiKeyRecord | undefined> {
  const { rows } = await db.query<ApiKeyRecord>(
    `select ${KEY_COLUMNS} from muster.api_keys where key_hash = $1 and revoked_at is null`,
    [hashKey(key)],
  );
  return rows[0];
}

/** Notes that a key was used; writes at most once a minute a key. */
export async function noteApiKeyUse(db: Queryable, id: string, now: Date = new Date()): Promise<void> {
  await db.query(
    `update muster.api_keys set last_used_at = $2
      where id = $1 and (last_used_at is null or last_used_at < $2::timestamptz - interval '1 minute')`,
    [id, now],
  );
}

/** Revokes a key of this tenant. False when there is none, or it is revoked already. */
export async function revokeApiKey(db: Queryable, input: { tenant: string; id: string; now?: Date }): Promise<boolean> {
  const { rowCount } = await db.query(
    'update muster.api_keys set revoked_at = $3 where tenant = $1 and id = $2 and revoked_at is null',
    [input.tenant, input.id, input.now ?? new Date()],
  );
  return rowCount === 1;
}

/** The tenant's keys, oldest first, at most `limit`. */
export async function listApiKeys(db: Queryable, query: { tenant: string; limit: number }): Promise<ApiKeyRecord[]> {
  const { rows } = await db.query<ApiKeyRecord>(
    `select ${KEY_COLUMNS} from muster.api_keys where tenant = $1 order by created_at, id limit $2`,
    [query.tenant, query.limit],
  );
  return rows;
}

function hashKey(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

function base62(bytes: Buffer): string {
  let rest = BigInt(`0x${bytes.toString('hex')}`);
  let text = '';
  while (text.length < KEY_LENGTH) {
    text = BASE62[Number(rest % 62n)] + text;
    rest /= 62n;
  }
  return text;
}
