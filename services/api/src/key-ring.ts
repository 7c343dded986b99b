/**
 * Looks keys up, and remembers those that were found for a moment.
 *
 * Invariants:
 * - what is remembered is the key's digest, and only of keys that are valid: a revoked key is refused by this process at
 *   once and by others within {@link REMEMBER_MS};
 * - the look-up goes by the digest of the whole key, so its time says nothing about how much of a guess was right.
 */
import { createHash } from 'node:crypto';
import { type Database, findApiKey, noteApiKeyUse } from '@muster/results';
import type { Caller } from './caller.ts';

const REMEMBER_MS = 2_000;
const MAX_REMEMBERED = 1_000;
const KEY_PATTERN = /^mk_[0-9A-Za-z]{20,100}$/;

export class KeyRing {
  readonly #db: Database;
  readonly #now: () => number;
  readonly #remembered = new Map<string, { caller: Caller; until: number }>();

  constructor(db: Database, now: () => number = Date.now) {
    this.#db = db;
    this.#now = now;
  }

  /** The caller behind a key; undefined for malformed, unknown and revoked ones alike. */
  async find(key: string): Promise<Caller | undefined> {
    if (!KEY_PATTERN.test(key)) return undefined;
    const digest = createHash('sha256').update(key).digest('base64');
    const known = this.#remembered.get(digest);
    if (known !== undefined && known.until > this.#now()) return known.caller;
    const record = await findApiKey(this.#db, key);
    this.#remembered.delete(digest);
    if (record === undefined) return undefined;
    const caller: Caller = {
      tenant: record.tenant,
      keyId: record.id,
      role: record.role,
      tenantWide: record.tenantWide,
    };
    if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear();
    this.#remembered.set(digest, { caller, until: this.#now() + REMEMBER_MS });
    // When a key was used last is a courtesy: it must not cost the request that used it.
    noteApiKeyUse(this.#db, record.id).catch(() => undefined);
    return caller;
  }

  /** Forgets everything that is remembered; call it when a key was revoked. */
  forget(): void {
    this.#remembered.clear();
  }
}
