/**
 * The outbox of notices: claimed for a while, written once, sent at least once under one id.
 *
 * Invariants:
 * - a claim is a lease: a process that dies with one leaves it to be claimed again, under the same id;
 * - the body is written before the first attempt and never again, so every attempt sends the same bytes;
 * - one notifier never has more than some notices under way, so that a slow one holds up nobody else's.
 */

import type { Queryable } from './database.ts';
import type { NoticeFormat } from './notifiers.ts';

export type NoticeKind = 'changes' | 'answer' | 'callback' | 'announcement' | 'test';
export type NoticeState = 'pending' | 'sent' | 'dead' | 'dropped';

/** A notice that this process is to send now. */
export interface NoticeClaim {
  readonly id: string;
  readonly tenant: string;
  readonly kind: NoticeKind;
  readonly runId: string | null;
  /** This attempt, from 1. */
  readonly attempt: number;
  readonly body: string | null;
  readonly createdAt: Date;
  /** Null: a callback. */
  readonly notifierId: string | null;
  readonly url: string;
  /** Sealed under the notifier's id, or the run's. Null: a callback without one. */
  readonly secret: Buffer | null;
  readonly format: NoticeFormat;
  readonly targets: readonly string[] | null;
  readonly changes: readonly string[];
  readonly runbooks: readonly string[] | null;
  readonly scopes: readonly string[] | null;
}

/**
 * Claims notices that are due, oldest first and at most `perNotifier` of one, and counts the attempt.
 *
 * @param query.leaseMs when a claim that nothing came of is due again
 */
export async function claimNotices(
  db: Queryable,
  query: { readonly limit: number; readonly perNotifier: number; readonly leaseMs: number },
): Promise<readonly NoticeClaim[]> {
  const { rows } = await db.query<NoticeClaim>(
    `with due as (
      select id, place, row_number() over (partition by coalesce(notifier_id, id) order by next_at, place) as turn
        from (
          select id, place, notifier_id, next_at from muster.notices
            where state = 'pending' and next_at <= now() order by next_at, place limit $1 * 20
        ) oldest
    ), taken as (
      select notices.id from muster.notices join due on due.id = notices.id
        where turn <= $2 and state = 'pending' and next_at <= now()
        order by notices.next_at, notices.place limit $1 for update of notices skip locked
    ), claimed as (
      update muster.notices set attempts = attempts + 1, next_at = now() + make_interval(secs => $3 / 1000.0)
        from taken where notices.id = taken.id returning notices.*
    )
    select claimed.id, claimed.tenant, claimed.kind, claimed.run_id as "runId", claimed.attempts as attempt, claimed.body,
        claimed.created_at as "createdAt", claimed.notifier_id as "notifierId",
        coalesce(notifiers.url, calls.url) as url, coalesce(notifiers.secret, calls.secret) as secret,
        coalesce(notifiers.format, 'envelope') as format, notifiers.targets, coalesce(notifiers.changes, '{}') as changes,
        notifiers.runbooks, notifiers.scopes
      from claimed left join muster.notifiers on notifiers.id = claimed.notifier_id
        left join muster.run_callbacks calls on calls.run_id = claimed.run_id and claimed.notifier_id is null
      order by claimed.place`,
    [query.limit, query.perNotifier, query.leaseMs],
  );
  return rows;
}

/** Writes what is sent, once. Gives what is written: another process may have been first. */
export async function writeNotice(db: Queryable, id: string, body: string): Promise<string> {
  const { rows } = await db.query<{ body: string }>(
    'update muster.notices set body = coalesce(body, $2) where id = $1 returning body',
    [id, body],
  );
  return rows[0]?.body ?? body;
}

/** What an attempt came to. */
export type NoticeOutcome =
  | { readonly state: 'sent'; readonly status: number }
  /** Nothing of it is left to tell. */
  | { readonly state: 'dropped'; readonly why: string }
  | { readonly state: 'dead'; readonly status?: number | undefined; readonly why: string }
  | { readonly state: 'pending'; readonly status?: number | undefined; readonly why: string; readonly waitMs: number };

/** Records an attempt. One that comes late, after another process sent it, changes nothing. */
export async function settleNotice(
  db: Queryable,
  claim: Pick<NoticeClaim, 'id' | 'attempt'>,
  outcome: NoticeOutcome,
): Promise<void> {
  const status = outcome.state === 'dropped' ? null : (outcome.status ?? null);
  const why = outcome.state === 'sent' ? null : outcome.why;
  const wait = outcome.state === 'pending' ? outcome.waitMs : 0;
  await db.query(
    `update muster.notices set state = $3, last_status = $4, last_error = $5,
        next_at = now() + make_interval(secs => $6 / 1000.0), settled_at = case $3 when 'pending' then null else now() end
      where id = $1 and state = 'pending' and (attempts = $2 or $3 = 'sent')`,
    [claim.id, claim.attempt, outcome.state, status, why, wait],
  );
}

/** A notice as its list shows it: without its body. */
export interface NoticeRecord {
  readonly id: string;
  readonly place: number;
  readonly kind: NoticeKind;
  readonly notifier: string | null;
  readonly runId: string | null;
  readonly state: NoticeState;
  readonly attempts: number;
  readonly nextAt: Date;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  readonly replayOf: string | null;
  readonly createdAt: Date;
  readonly settledAt: Date | null;
}

const RECORD = `notices.id, place, kind, notifiers.name as notifier, run_id as "runId", state, attempts, next_at as "nextAt",
  last_status as "lastStatus", last_error as "lastError", replay_of as "replayOf", notices.created_at as "createdAt",
  settled_at as "settledAt"`;

/** A page of a tenant's notices, newest first. */
export async function pageNotices(
  db: Queryable,
  query: {
    readonly tenant: string;
    readonly state?: NoticeState | undefined;
    readonly notifier?: string | undefined;
    readonly after?: number | undefined;
    readonly limit: number;
  },
): Promise<{ readonly notices: readonly NoticeRecord[]; readonly nextAfter?: number }> {
  const { rows } = await db.query<NoticeRecord>(
    `select ${RECORD} from muster.notices left join muster.notifiers on notifiers.id = notices.notifier_id
      where notices.tenant = $1 and ($2::text is null or state = $2) and ($3::text is null or notifiers.name = $3)
        and ($4::bigint is null or place < $4)
      order by place desc limit $5`,
    [query.tenant, query.state ?? null, query.notifier ?? null, query.after ?? null, query.limit + 1],
  );
  const notices = rows.slice(0, query.limit);
  return rows.length > notices.length ? { notices, nextAfter: notices.at(-1)!.place } : { notices };
}

/** Files a notice that no run is the cause of. Returns its id. */
export async function fileNotice(
  db: Queryable,
  notice: { readonly tenant: string; readonly notifierId: string; readonly kind: 'announcement' | 'test' },
): Promise<string> {
  const { rows } = await db.query<{ id: string }>(
    'insert into muster.notices (tenant, notifier_id, kind) values ($1, $2, $3) returning id',
    [notice.tenant, notice.notifierId, notice.kind],
  );
  return rows[0]!.id;
}

/**
 * Files a notice that is over once more, with the same body, under an id of its own. `undefined`: the tenant has none of
 * this id; `open`: it is still to be sent.
 */
export async function replayNotice(
  db: Queryable,
  place: { readonly tenant: string; readonly id: string },
): Promise<string | 'open' | undefined> {
  return await db.transaction(async (tx) => {
    const found = await tx.query<{ state: NoticeState }>(
      'select state from muster.notices where tenant = $1 and id = $2 for update',
      [place.tenant, place.id],
    );
    if (found.rows[0] === undefined) return undefined;
    if (found.rows[0].state === 'pending') return 'open';
    const { rows } = await tx.query<{ id: string }>(
      `insert into muster.notices (tenant, kind, notifier_id, run_id, body, replay_of)
        select tenant, kind, notifier_id, run_id, body, id from muster.notices where id = $1 returning id`,
      [place.id],
    );
    return rows[0]!.id;
  });
}

/** Deletes notices that were settled before an instant, some at a time. */
export async function forgetNotices(db: Queryable, before: Date, limit: number): Promise<number> {
  const { rowCount } = await db.query(
    `delete from muster.notices where id = any(array(
      select id from muster.notices where state <> 'pending' and settled_at < $1 order by settled_at limit $2))`,
    [before, limit],
  );
  return rowCount;
}
