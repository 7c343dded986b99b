/**
 * Working on deliveries: claimed for a time, done in one transaction with the runs that they begin.
 *
 * Invariants:
 * - a claim is counted before the work, so that a delivery which takes its process with it is given up after some attempts;
 * - what a claim writes in the end is conditional on it: zero rows means that somebody else did it;
 * - each hook gets its share of a round, however many deliveries of another one wait, and what failed waits its turn.
 */

import type { Queryable, Tx } from './database.ts';
import { DELIVERY_COLUMNS, type DeliveryRecord, type DeliveryResult, type KeptDelivery } from './deliveries.ts';

/** A hook whose deliveries somebody can work on. */
export interface HookPlace {
  readonly tenant: string;
  readonly hook: string;
}

/** The right to work on a delivery, until it is claimed anew. */
export interface DeliveryClaim extends HookPlace {
  readonly id: string;
  /** Which attempt this is; 1 is the first. */
  readonly attempts: number;
}

/** Claims deliveries that are due, at most so many of each hook, for `leaseMs`. */
export async function claimDeliveries(
  db: Queryable,
  query: { readonly hooks: readonly HookPlace[]; readonly limitPerHook: number; readonly leaseMs: number },
): Promise<DeliveryClaim[]> {
  const { rows } = await db.query<DeliveryClaim>(
    `update muster.deliveries set attempts = attempts + 1, next_at = now() + $4 * interval '1 millisecond'
      where id = any(array(
        select due.id from unnest($1::text[], $2::text[]) as hooks (tenant, hook)
          cross join lateral (
            select id from muster.deliveries waiting
              where waiting.tenant = hooks.tenant and waiting.hook = hooks.hook and waiting.state = 'received'
                and waiting.next_at <= now()
              order by waiting.next_at, waiting.id limit $3 for update skip locked
          ) due))
      returning id, tenant, hook, attempts`,
    [query.hooks.map(({ tenant }) => tenant), query.hooks.map(({ hook }) => hook), query.limitPerHook, query.leaseMs],
  );
  return rows;
}

/** Gives back claims that nothing was begun of: they are due at once, and the attempt was none. */
export async function releaseDeliveries(db: Queryable, claims: readonly DeliveryClaim[]): Promise<void> {
  await db.query(
    `update muster.deliveries set attempts = deliveries.attempts - 1, next_at = now()
      from unnest($1::uuid[], $2::integer[]) as claims (id, attempts)
      where deliveries.id = claims.id and deliveries.attempts = claims.attempts and state = 'received'`,
    [claims.map(({ id }) => id), claims.map(({ attempts }) => attempts)],
  );
}

/** Claimed deliveries under their row locks, in the order of their claims; without those whose claim is not good any more. */
export async function openDeliveries(
  tx: Tx,
  claims: readonly DeliveryClaim[],
): Promise<{ readonly claim: DeliveryClaim; readonly delivery: DeliveryRecord & KeptDelivery }[]> {
  const { rows } = await tx.query<DeliveryRecord & KeptDelivery>(
    `select ${DELIVERY_COLUMNS}, headers, body from muster.deliveries
      where (id, attempts) in (select * from unnest($1::uuid[], $2::integer[])) and state = 'received'
      order by id for no key update`,
    [claims.map(({ id }) => id), claims.map(({ attempts }) => attempts)],
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  return claims.flatMap((claim) => {
    const delivery = byId.get(claim.id);
    return delivery === undefined ? [] : [{ claim, delivery }];
  });
}

/** What a claimed delivery came to. */
export interface DeliveryEnd {
  readonly claim: DeliveryClaim;
  readonly state: 'done' | 'refused' | 'unreadable';
  readonly result: DeliveryResult;
}

/** Writes what claimed deliveries came to, where the claims are still good. Returns how many were. */
export async function finishDeliveries(db: Queryable, ends: readonly DeliveryEnd[], now: Date): Promise<number> {
  const { rowCount } = await db.query(
    `update muster.deliveries set state = ends.state, result = ends.result::json, processed_at = $5
      from unnest($1::uuid[], $2::integer[], $3::text[], $4::text[]) as ends (id, attempts, state, result)
      where deliveries.id = ends.id and deliveries.attempts = ends.attempts and deliveries.state = 'received'`,
    [
      ends.map(({ claim }) => claim.id),
      ends.map(({ claim }) => claim.attempts),
      ends.map(({ state }) => state),
      ends.map(({ result }) => JSON.stringify(result)),
      now,
    ],
  );
  return rowCount;
}

/** Lets a delivery wait for its next attempt; with `counts: false` this one was none. */
export async function postponeDelivery(
  db: Queryable,
  claim: DeliveryClaim,
  wait: { readonly waitMs: number; readonly counts: boolean },
): Promise<void> {
  await db.query(
    `update muster.deliveries set next_at = now() + $3 * interval '1 millisecond', attempts = attempts - $4
      where id = $1 and attempts = $2 and state = 'received'`,
    [claim.id, claim.attempts, wait.waitMs, wait.counts ? 0 : 1],
  );
}

/** Refuses deliveries that are due for longer than `patienceMs` and whose hook is none of these. Returns how many. */
export async function refuseUnknownHooks(
  db: Queryable,
  query: {
    readonly hooks: readonly HookPlace[];
    readonly patienceMs: number;
    readonly result: DeliveryResult;
    readonly now: Date;
    readonly limit: number;
  },
): Promise<number> {
  const { rowCount } = await db.query(
    `update muster.deliveries set state = 'refused', result = $4::json, processed_at = $5
      where id = any(array(
        select id from muster.deliveries
          where state = 'received' and next_at < now() - $3 * interval '1 millisecond'
            and not exists (
              select from unnest($1::text[], $2::text[]) as hooks (tenant, hook)
                where hooks.tenant = deliveries.tenant and hooks.hook = deliveries.hook)
          order by next_at limit $6 for update skip locked))`,
    [
      query.hooks.map(({ tenant }) => tenant),
      query.hooks.map(({ hook }) => hook),
      query.patienceMs,
      JSON.stringify(query.result),
      query.now,
      query.limit,
    ],
  );
  return rowCount;
}
