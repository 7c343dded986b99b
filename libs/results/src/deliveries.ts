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

/** The delivery that this one repeats, or whose id it took; undefined when it is new. */
export async function findRepeated(db: Queryable, one: DeliveryIdentity): Promise<ReceiveOutcome | undefined> {
  const { tenant, hook, deliveryId, bodyDigest } = one;
  if (deliveryId !== undefined) {
    const { rows } = await db.query<DeliveryRecord>(
      `select ${DELIVERY_COLUMNS} from muster.deliveries where tenant = $1 and hook = $2 and delivery_id = $3`,
      [tenant, hook, deliveryId],
    );
    return rows[0] && { outcome: rows[0].bodyDigest === bodyDigest ? 'repeated' : 'conflict', delivery: rows[0] };
  }
  const { rows } = await db.query<DeliveryRecord>(
    `select ${DELIVERY_COLUMNS} from muster.deliveries
      where tenant = $1 and hook = $2 and body_digest = $3 and received_at > $4 and replay_of is null
      order by received_at desc limit 1`,
    [tenant, hook, bodyDigest, new Date(one.receivedAt.getTime() - one.repeatMs)],
  );
  return rows[0] && { outcome: 'repeated', delivery: rows[0] };
}

/** Keeps a delivery, unless it is there already. The acknowledgement is the commit. */
export async function keepDelivery(db: Queryable, input: DeliveryInput): Promise<ReceiveOutcome> {
  if (input.deliveryId === undefined) return await keepByDigest(db, input, input.bodyDigest);
  const kept = await insertDelivery(db, input, input.deliveryId);
  // Another request with this id was first.
  return kept === undefined ? (await findRepeated(db, input))! : { outcome: 'received', delivery: kept };
}

/** Equal bodies wait for each other, so that only the first of them is new. */
function keepByDigest(db: Queryable, input: DeliveryInput, bodyDigest: string): Promise<ReceiveOutcome> {
  return db.transaction(async (tx) => {
    const place = JSON.stringify(['delivery', input.tenant, input.hook, bodyDigest]);
    await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [place]);
    const repeated = await findRepeated(tx, input);
    if (repeated !== undefined) return repeated;
    const kept = await insertDelivery(tx, input, `${bodyDigest}@${input.receivedAt.toISOString()}`);
    return { outcome: 'received', delivery: kept! };
  });
}

async function insertDelivery(
  db: Queryable,
  input: DeliveryInput,
  deliveryId: string,
): Promise<DeliveryRecord | undefined> {
  const { rows } = await db.query<DeliveryRecord>(
    `with kept as (
      insert into muster.deliveries (id, tenant, hook, format, delivery_id, body_digest, headers, body, body_bytes,
          received_at, replay_of, state)
        values ($1, $2, $3, $4, $5, $6, $7::json, $8, $9, $10, $11, 'received')
        on conflict (tenant, hook, delivery_id) do nothing
        returning ${DELIVERY_COLUMNS}
    ) select kept.*, pg_notify('muster_delivery', '') as told from kept`,
    [
      input.id,
      input.tenant,
      input.hook,
      input.format,
      deliveryId,
      input.bodyDigest,
      JSON.stringify(input.headers),
      input.body,
      input.bodyBytes,
      input.receivedAt,
      input.replayOf ?? null,
    ],
  );
  if (rows[0] === undefined) return undefined;
  const { told: _told, ...delivery } = rows[0] as DeliveryRecord & { told: unknown };
  return delivery;
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
  const outcome = await keepDelivery(tx, {
    ...source,
    id: replay.id,
    deliveryId: `replay:${randomUUID()}`,
    headers: replay.headers,
    body: replay.body,
    receivedAt: replay.now,
    replayOf: source.id,
    repeatMs: 0,
  });
  return outcome.delivery;
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
