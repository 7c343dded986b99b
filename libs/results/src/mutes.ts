/** What is not told for a while: mutes of subjects, and windows of maintenance. What is muted stays counted, as muted. */

import { randomUUID } from 'node:crypto';
import type { Queryable } from './database.ts';

export interface MuteRecord {
  readonly id: string;
  readonly runbook: string | null;
  readonly scope: string | null;
  /** With `*` for any characters. */
  readonly subject: string | null;
  readonly target: string | null;
  readonly reason: string;
  /** The key that set it. */
  readonly keyId: string | null;
  readonly startsAt: Date;
  readonly endsAt: Date;
  readonly createdAt: Date;
  readonly liftedAt: Date | null;
}

export interface MuteSetting extends Omit<MuteRecord, 'id' | 'createdAt' | 'liftedAt'> {
  readonly tenant: string;
  readonly now: Date;
}

const COLUMNS = `id, runbook, scope, subject_pattern as "subject", target_pattern as "target", reason, key_id as "keyId",
  starts_at as "startsAt", ends_at as "endsAt", created_at as "createdAt", lifted_at as "liftedAt"`;

export async function addMute(db: Queryable, mute: MuteSetting): Promise<MuteRecord> {
  const { rows } = await db.query<MuteRecord>(
    `insert into muster.mutes (id, tenant, runbook, scope, subject_pattern, target_pattern, reason, key_id, starts_at,
        ends_at, created_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) returning ${COLUMNS}`,
    [
      randomUUID(),
      mute.tenant,
      mute.runbook,
      mute.scope,
      likePattern(mute.subject),
      likePattern(mute.target),
      mute.reason,
      mute.keyId,
      mute.startsAt,
      mute.endsAt,
      mute.now,
    ],
  );
  return shown(rows[0]!);
}

/** The mutes of a tenant that hold now or will, the one that ends first first. */
export async function listMutes(
  db: Queryable,
  query: { readonly tenant: string; readonly now: Date; readonly limit: number },
): Promise<readonly MuteRecord[]> {
  const { rows } = await db.query<MuteRecord>(
    `select ${COLUMNS} from muster.mutes where tenant = $1 and ends_at > $2 and lifted_at is null
      order by ends_at, id limit $3`,
    [query.tenant, query.now, query.limit],
  );
  return rows.map(shown);
}

/** Ends a mute before its time. False: there is none that holds. */
export async function liftMute(
  db: Queryable,
  place: { readonly tenant: string; readonly id: string; readonly now: Date },
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update muster.mutes set lifted_at = $3 where tenant = $1 and id = $2 and lifted_at is null and ends_at > $3`,
    [place.tenant, place.id, place.now],
  );
  return rowCount > 0;
}

/** Deletes mutes that ended before an instant: nothing is told after them any more. */
export async function forgetMutes(db: Queryable, before: Date): Promise<number> {
  const { rowCount } = await db.query('delete from muster.mutes where least(ends_at, lifted_at) < $1', [before]);
  return rowCount;
}

/** `*` is any characters; everything else means itself. */
function likePattern(glob: string | null): string | null {
  return glob === null ? null : glob.replace(/[\\%_]/g, '\\$&').replaceAll('*', '%');
}

function shown(mute: MuteRecord): MuteRecord {
  return { ...mute, subject: globOf(mute.subject), target: globOf(mute.target) };
}

function globOf(pattern: string | null): string | null {
  return pattern === null ? null : pattern.replace(/\\?[\s\S]/g, (one) => (one === '%' ? '*' : one.at(-1)!));
}
