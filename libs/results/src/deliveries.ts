/**
 * Deliveries of webhooks: kept once by the sender's id, before anything is made of them.
 *
 * Invariants:
 * - one delivery id of a hook is one row, however many requests carry it at once; another body under it is a conflict;
 * - where senders have no ids, equal bodies within a stated time are one row;
 * - a body is only ever given to whoever can open it; lists and answers never hold one.
 */

import { randomUUID } from 'node:crypto';
import type { Queryable, Tx } from './database.ts';
import { UnknownCursorError } from './errors.ts';

export type DeliveryState = 'received' | 'done' | 'refused' | 'unreadable';

/** What was made of a delivery, as it is stored and shown. Texts come from the sender: inert, never a secret. */
export interface DeliveryResult {
  readonly kind?: string;
  readonly event?: string;
  /** Runs that it began. */
  readonly runs: readonly { readonly run_id: string; readonly subject: string; readonly alerts: number }[];
  /** Runs of deliveries before that it joined. */
  readonly collapsed: readonly { readonly run_id: string; readonly subject: string; readonly alerts: number }[];
  /** Alerts whose sender does not know how their subject is. */
  readonly declined: readonly { readonly fingerprint: string; readonly reason: string }[];
  readonly skipped: readonly { readonly fingerprint: string | null; readonly code: string; readonly reason: string }[];
  /** The sender's list was cut: there are alerts that nobody knows of here. */
  readonly truncated?: { readonly missing?: number; readonly why: string };
  readonly doubts: readonly string[];
  /** Why nothing could be made of it. */
  readonly failure?: { readonly code: string; readonly reason: string };
}

/** A delivery without its body. */
export interface DeliveryRecord {
  readonly id: string;
  readonly tenant: string;
  readonly hook: string;
  readonly format: string;
  /** The sender's, or made of the body's digest. */
  readonly deliveryId: string;
  readonly bodyDigest: string;
  readonly bodyBytes: number;
  readonly receivedAt: Date;
  readonly replayOf: string | null;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly result: DeliveryResult | null;
  readonly processedAt: Date | null;
}

/** Headers, redacted: a name that came twice has a list. */
export type KeptHeaders = Readonly<Record<string, string | readonly string[]>>;

/** What is stored of a delivery. */
export interface KeptDelivery {
  readonly headers: KeptHeaders;
  /** Sealed, as it was handed in. */
  readonly body: Buffer;
}

/** How a delivery is known again: by the sender's id, or by its body within a time. */
export interface DeliveryIdentity {
  readonly tenant: string;
  readonly hook: string;
  /** Left out where the sender has none. */
  readonly deliveryId?: string | undefined;
  readonly bodyDigest: string;
  readonly receivedAt: Date;
  /** How long an equal body without an id is the same delivery. */
  readonly repeatMs: number;
}

/** A delivery to be kept. */
export interface DeliveryInput extends DeliveryIdentity, KeptDelivery {
  readonly id: string;
  readonly format: string;
  readonly bodyBytes: number;
  readonly replayOf?: string | undefined;
}

export type ReceiveOutcome =
  | { readonly outcome: 'received' | 'repeated'; readonly delivery: DeliveryRecord }
  /** The id was used for another body: that is its delivery. */
  | { readonly outcome: 'conflict'; readonly delivery: DeliveryRecord };

/** Filters and page of {@link listDeliveries}. */
export interface DeliveryQuery {
  readonly tenant: string;
  readonly hook?: string | undefined;
  readonly state?: DeliveryState | undefined;
  /** Id of the last one of the page before. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/** Deliveries, newest first; `nextAfter` is there when more follow. */
export interface DeliveryPage {
  readonly deliveries: readonly DeliveryRecord[];
  readonly nextAfter?: string;
}

export const DELIVERY_COLUMNS = `id, tenant, hook, format, delivery_id as "deliveryId", body_digest as "bodyDigest",
  body_bytes as "bodyBytes", received_at as "receivedAt", replay_of as "replayOf", state, attempts, result,
  processed_at as "processedAt"`;

/**
 * The deliveries that these repeat, or whose ids they took, in the same order; undefined for each that is new. A flood is
 * looked up in one go.
 */
export async function findRepeated(
  db: Queryable,
  asked: readonly DeliveryIdentity[],
): Promise<(ReceiveOutcome | undefined)[]> {
  const [byId, byDigest] = await Promise.all([
    findByIds(
      db,
      asked.filter((one) => one.deliveryId !== undefined),
    ),
    findByDigests(
      db,
      asked.filter((one) => one.deliveryId === undefined),
    ),
  ]);
  return asked.map((one) => {
    const delivery = (one.deliveryId === undefined ? byDigest : byId).get(keyOf(one));
    return delivery && outcomeOf(one, delivery);
  });
}

/**
 * Keeps deliveries, unless they are there already; outcomes in the same order. The acknowledgement is the commit, and it is
 * one for all of them.
 */
export function keepDeliveries(db: Queryable, inputs: readonly DeliveryInput[]): Promise<ReceiveOutcome[]> {
  return db.transaction(async (tx) => {
    const known = await lockDigests(tx, inputs);
    // Of those that say the same in one go, the first is kept, and the others repeat it.
    const fresh = new Map<string, DeliveryInput>();
    for (const one of inputs) if (!known.has(keyOf(one)) && !fresh.has(keyOf(one))) fresh.set(keyOf(one), one);
    const kept = await insertDeliveries(tx, [...fresh.values()]);
    const seen = new Map([...known, ...kept]);
    // Other requests with these ids were first.
    const beaten = [...fresh.values()].filter((one) => !seen.has(keyOf(one)));
    for (const [key, delivery] of await findByIds(tx, beaten)) seen.set(key, delivery);
    return inputs.map((one) => {
      const delivery = seen.get(keyOf(one))!;
      return delivery.id === one.id ? { outcome: 'received', delivery } : outcomeOf(one, delivery);
    });
  });
}

function outcomeOf(one: DeliveryIdentity, delivery: DeliveryRecord): ReceiveOutcome {
  return { outcome: delivery.bodyDigest === one.bodyDigest ? 'repeated' : 'conflict', delivery };
}

/** What makes two deliveries the same one. */
function keyOf(one: Pick<DeliveryIdentity, 'tenant' | 'hook' | 'deliveryId' | 'bodyDigest'>): string {
  const { tenant, hook, deliveryId, bodyDigest } = one;
  return JSON.stringify(
    deliveryId === undefined ? ['digest', tenant, hook, bodyDigest] : ['id', tenant, hook, deliveryId],
  );
}

/** Equal bodies without ids wait for each other, so that only the first of them is new. Gives those that are there. */
async function lockDigests(tx: Tx, inputs: readonly DeliveryInput[]): Promise<Map<string, DeliveryRecord>> {
  const nameless = inputs.filter((one) => one.deliveryId === undefined);
  if (nameless.length === 0) return new Map();
  // In one order for everybody.
  const places = [...new Set(nameless.map((one) => `delivery ${keyOf(one)}`))].sort();
  await tx.query('select pg_advisory_xact_lock(hashtextextended(place, 0)) from unnest($1::text[]) as places (place)', [
    places,
  ]);
  return await findByDigests(tx, nameless);
}

async function findByIds(db: Queryable, asked: readonly DeliveryIdentity[]): Promise<Map<string, DeliveryRecord>> {
  if (asked.length === 0) return new Map();
  const { rows } = await db.query<DeliveryRecord>(
    `select ${DELIVERY_COLUMNS} from muster.deliveries
      where (tenant, hook, delivery_id) in (select * from unnest($1::text[], $2::text[], $3::text[]))`,
    [asked.map((one) => one.tenant), asked.map((one) => one.hook), asked.map((one) => one.deliveryId)],
  );
  return new Map(rows.map((row) => [keyOf(row), row]));
}

async function findByDigests(db: Queryable, all: readonly DeliveryIdentity[]): Promise<Map<string, DeliveryRecord>> {
  const asked = [...new Map(all.map((one) => [keyOf(one), one])).values()];
  if (asked.length === 0) return new Map();
  const { rows } = await db.query<DeliveryRecord>(
    `select found.* from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[])
        as asked (tenant, hook, body_digest, since)
      cross join lateral (
        select ${DELIVERY_COLUMNS} from muster.deliveries kept
          where kept.tenant = asked.tenant and kept.hook = asked.hook and kept.body_digest = asked.body_digest
            and kept.received_at > asked.since and kept.replay_of is null
          order by kept.received_at desc limit 1
      ) found`,
    [
      asked.map((one) => one.tenant),
      asked.map((one) => one.hook),
      asked.map((one) => one.bodyDigest),
      asked.map((one) => new Date(one.receivedAt.getTime() - one.repeatMs)),
    ],
  );
  return new Map(rows.map((row) => [keyOf({ ...row, deliveryId: undefined }), row]));
}

/** Inserts what is not there yet, and gives that. */
async function insertDeliveries(tx: Tx, inputs: readonly DeliveryInput[]): Promise<Map<string, DeliveryRecord>> {
  if (inputs.length === 0) return new Map();
  const of = <T>(read: (input: DeliveryInput) => T) => inputs.map(read);
  const { rows } = await tx.query<DeliveryRecord>(
    `with kept as (
      insert into muster.deliveries (id, tenant, hook, format, delivery_id, body_digest, headers, body, body_bytes,
          received_at, replay_of, state)
        select id, tenant, hook, format, delivery_id, body_digest, headers::json, body, body_bytes, received_at, replay_of,
            'received'
          from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bytea[],
              $9::integer[], $10::timestamptz[], $11::uuid[])
            as given (id, tenant, hook, format, delivery_id, body_digest, headers, body, body_bytes, received_at, replay_of)
        on conflict (tenant, hook, delivery_id) do nothing
        returning ${DELIVERY_COLUMNS}
    ) select kept.*, pg_notify('muster_delivery', '') as told from kept`,
    [
      of((one) => one.id),
      of((one) => one.tenant),
      of((one) => one.hook),
      of((one) => one.format),
      of((one) => one.deliveryId ?? `${one.bodyDigest}@${one.receivedAt.toISOString()}`),
      of((one) => one.bodyDigest),
      of((one) => JSON.stringify(one.headers)),
      of((one) => one.body),
      of((one) => one.bodyBytes),
      of((one) => one.receivedAt),
      of((one) => one.replayOf ?? null),
    ],
  );
  const keys = new Map(inputs.map((one) => [one.id, keyOf(one)]));
  return new Map(
    rows.map((row) => {
      const { told: _told, ...delivery } = row as DeliveryRecord & { told: unknown };
      return [keys.get(delivery.id)!, delivery];
    }),
  );
}

/** The delivery, or undefined when this tenant has none such. */
export async function getDelivery(
  db: Queryable,
  query: { readonly tenant: string; readonly id: string },
): Promise<DeliveryRecord | undefined> {
  const { rows } = await db.query<DeliveryRecord>(
    `select ${DELIVERY_COLUMNS} from muster.deliveries where tenant = $1 and id = $2`,
    [query.tenant, query.id],
  );
  return rows[0];
}

/** What is stored of a delivery, for whoever can open it. */
export async function getKeptDelivery(
  db: Queryable,
  query: { readonly tenant: string; readonly id: string },
): Promise<KeptDelivery | undefined> {
  const { rows } = await db.query<KeptDelivery>(
    'select headers, body from muster.deliveries where tenant = $1 and id = $2',
    [query.tenant, query.id],
  );
  return rows[0];
}

/**
 * Deliveries, newest first. Those that come while somebody turns pages neither repeat nor push out what comes after the
 * cursor.
 *
 * @throws UnknownCursorError when `after` is no delivery of this tenant
 */
export async function listDeliveries(db: Queryable, query: DeliveryQuery): Promise<DeliveryPage> {
  const { tenant, hook = null, state = null, after = null, limit } = query;
  if (after !== null && (await getDelivery(db, { tenant, id: after })) === undefined) {
    throw new UnknownCursorError(after);
  }
  const { rows } = await db.query<DeliveryRecord>(
    `select ${DELIVERY_COLUMNS} from muster.deliveries
      where tenant = $1 and ($2::text is null or hook = $2) and ($3::text is null or state = $3)
        and ($4::uuid is null or (received_at, id)
          < (select seen.received_at, seen.id from muster.deliveries seen where seen.id = $4))
      order by received_at desc, id desc limit $5`,
    [tenant, hook, state, after, limit + 1],
  );
  const deliveries = rows.slice(0, limit);
  return rows.length > limit ? { deliveries, nextAfter: deliveries.at(-1)!.id } : { deliveries };
}

/** Puts a delivery in once more, linked to the one before. The body is the same, sealed for the new row. */
export async function keepReplay(
  tx: Tx,
  source: DeliveryRecord,
  replay: KeptDelivery & { readonly id: string; readonly now: Date },
): Promise<DeliveryRecord> {
  const [outcome] = await keepDeliveries(tx, [
    {
      ...source,
      id: replay.id,
      deliveryId: `replay:${randomUUID()}`,
      headers: replay.headers,
      body: replay.body,
      receivedAt: replay.now,
      replayOf: source.id,
      repeatMs: 0,
    },
  ]);
  return outcome!.delivery;
}

/** Forgets deliveries that were done before an instant, at most `limit` of them. Returns how many. */
export async function forgetDeliveries(
  db: Queryable,
  query: { readonly doneBefore: Date; readonly limit: number },
): Promise<number> {
  const { rowCount } = await db.query(
    `delete from muster.deliveries where id = any(array(
      select id from muster.deliveries where state <> 'received' and processed_at < $1
        order by processed_at limit $2 for update skip locked))`,
    [query.doneBefore, query.limit],
  );
  return rowCount;
}
