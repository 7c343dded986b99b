/**
 * Permits to call tools, over all workers: slots are leased, starts reserved, pauses told, in one exchange for whatever a
 * worker is about.
 *
 * Invariants:
 * - exchanges about one limit follow each other by the lock of its row, and decide by the database's clock alone;
 * - a lease that was not renewed counts no more: a worker that is gone gives its slots back by that, and one that was
 *   cut off has to stop by itself when its lease ends;
 * - a pause is only ever made longer.
 */

import type { Queryable, Tx } from './database.ts';
import {
  type Book,
  createBooks,
  type KeptPermit,
  keyOf,
  type Limited,
  lockBooks,
  writeBooks,
  writePermits,
} from './permit-books.ts';
import { type RateBook, type ReservedStarts, reserveStarts } from './reserve-starts.ts';
import { shareSlots } from './share-slots.ts';

/** What a worker wants of one limit. */
export interface LimitDemand extends Limited {
  /** Calls at once over all workers; absent where that is not limited. */
  readonly concurrency?: number;
  /** Calls of this worker that are under way. */
  readonly inUse: number;
  /** Calls under way and waiting. Nothing under way and nothing wanted gives back what was leased. */
  readonly wanted: number;
}

/** How many calls of a tool, for a target, wait for the rate. Each rate is absent where it is not limited. */
export interface StartDemand extends Limited {
  readonly perSecond?: number;
  readonly perTargetPerSecond?: number;
  readonly count: number;
}

/** Nobody is to call this for so long. */
export interface PauseNotice extends Limited {
  readonly forMs: number;
}

export interface PermitRequest {
  /** Everything that the worker is about; starts and pauses are of these. */
  readonly limits: readonly LimitDemand[];
  readonly starts: readonly StartDemand[];
  readonly pauses: readonly PauseNotice[];
}

/** In the order of the request. */
export interface PermitReply {
  /** How many calls the worker may have under way from now on (where that is limited), and how long nobody may call. */
  readonly limits: readonly { readonly slots: number; readonly pausedForMs: number }[];
  /** After how many ms calls may begin, and when to ask again for those that were not given. */
  readonly starts: readonly { readonly afterMs: readonly number[]; readonly retryMs: number }[];
}

const ATTEMPTS = 3;
const RETRY_MS = 50;

/**
 * Exchanges what a worker wants for what it may do.
 *
 * @param exchange a lease of `leaseMs` counts from the exchange; the holder may rely on half of it, because an exchange
 * that changes nothing does not renew what has more than half left
 */
export async function exchangePermits(
  db: Queryable,
  exchange: PermitRequest & { holder: string; leaseMs: number; now?: Date },
): Promise<PermitReply> {
  const keys = keysOf(exchange);
  for (let attempt = 1; ; attempt++) {
    const reply = await db.transaction(async (tx) => {
      const { books, now } = await lockBooks(tx, keys, exchange);
      if (books.size < keys.length && attempt < ATTEMPTS) return undefined;
      return await decide(tx, books, exchange, now);
    });
    if (reply !== undefined) return reply;
    // Not in the transaction: whoever holds some locks and waits for new rows of another could wait for ever.
    await createBooks(db, keys);
  }
}

/** Gives back everything that a worker leased, when it stops in good order. */
export async function releasePermits(db: Queryable, holder: string): Promise<void> {
  await db.query('delete from muster.tool_permits where holder = $1', [holder]);
}

/** Forgets leases of workers that are gone, and limits that nobody is about. Returns how many rows went. */
export async function sweepToolLimits(db: Queryable, query: { now?: Date; limit: number }): Promise<number> {
  const values = [query.now ?? null, query.limit];
  const permits = await db.query(
    `delete from muster.tool_permits where (tool, target, holder) in (
        select tool, target, holder from muster.tool_permits
          where expires_at < coalesce($1::timestamptz, clock_timestamp()) limit $2 for update skip locked)`,
    values,
  );
  const limits = await db.query(
    `delete from muster.tool_limits where (tool, target) in (
        select tool, target from muster.tool_limits
          where coalesce(next_start_at, '-infinity') < coalesce($1::timestamptz, clock_timestamp())
            and coalesce(paused_until, '-infinity') < coalesce($1::timestamptz, clock_timestamp())
            and not exists (select from muster.tool_permits
              where tool_permits.tool = tool_limits.tool and tool_permits.target = tool_limits.target)
          limit $2 for update skip locked)`,
    values,
  );
  return permits.rowCount + limits.rowCount;
}

async function decide(
  tx: Tx,
  books: ReadonlyMap<string, Book>,
  exchange: PermitRequest & { holder: string; leaseMs: number },
  now: number,
): Promise<PermitReply> {
  for (const { forMs, ...limited } of exchange.pauses) {
    const book = books.get(keyOf(limited));
    if (book === undefined || (book.pausedUntil ?? 0) >= now + forMs) continue;
    book.pausedUntil = now + forMs;
    book.changed = true;
  }
  const permits: KeptPermit[] = [];
  const limits = exchange.limits.map((demand) => {
    const book = books.get(keyOf(demand));
    const pausedForMs = Math.max(0, (book?.pausedUntil ?? 0) - now);
    if (book === undefined || demand.concurrency === undefined) return { slots: 0, pausedForMs };
    const share = shareSlots(demand.concurrency, book.mine, { ...demand, holder: exchange.holder }, book.others, now);
    permits.push({ limited: demand, share: share.holder });
    return { slots: share.may, pausedForMs };
  });
  const starts = exchange.starts.map((demand) => startsOf(books, demand, now));
  await writeBooks(tx, [...books.values()]);
  await writePermits(tx, permits, exchange, now);
  return { limits, starts };
}

function startsOf(books: ReadonlyMap<string, Book>, demand: StartDemand, now: number): ReservedStarts {
  const overall = rateBook(books.get(keyOf({ ...demand, target: null })), demand.perSecond);
  const perTarget = rateBook(books.get(keyOf(demand)), demand.target === null ? undefined : demand.perTargetPerSecond);
  if (overall === 'missing' || perTarget === 'missing') return { afterMs: [], retryMs: RETRY_MS };
  return reserveStarts(overall, perTarget, demand.count, now);
}

/** A view of a book as a rate, which writes through. */
function rateBook(book: Book | undefined, perSecond: number | undefined): RateBook | 'missing' | undefined {
  if (perSecond === undefined) return undefined;
  if (book === undefined) return 'missing';
  return {
    intervalMs: 1000 / perSecond,
    get nextAt() {
      return book.nextAt ?? 0;
    },
    set nextAt(at) {
      book.nextAt = at;
      book.changed = true;
    },
  };
}

/** The keys of everything that an exchange is about, once each. */
function keysOf({ limits, starts, pauses }: PermitRequest): string[] {
  return [...new Set([...limits, ...starts, ...pauses].map(keyOf))];
}
