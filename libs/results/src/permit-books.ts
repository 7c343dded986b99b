/**
 * The rows behind permits: a book for each limit, read under its lock, and what workers have of it.
 *
 * Invariant: locks are taken in the order of the keys, and never while a new row of somebody else is waited for.
 */

import { createHash } from 'node:crypto';
import { storableText } from './bounded-text.ts';
import type { Queryable, Tx } from './database.ts';
import type { SlotHolder } from './share-slots.ts';

/** What is limited: a tool for one target, or as a whole (`target` null). */
export interface Limited {
  readonly tool: string;
  readonly target: string | null;
}

/** A limit as it stands. Instants are in ms. */
export interface Book {
  readonly tool: string;
  readonly target: string;
  nextAt: number | null;
  pausedUntil: number | null;
  changed: boolean;
  readonly others: readonly SlotHolder[];
  readonly mine: SlotHolder | undefined;
}

/** What a worker is to have of one limit. */
export interface KeptPermit {
  readonly limited: Limited;
  readonly share: SlotHolder;
}

const MAX_TARGET_BYTES = 512;

/** Of what a worker leases, half is left when it is renewed: an exchange that changes nothing writes nothing till then. */
const RENEW_SHARE = 0.5;
interface BookRow {
  readonly tool: string;
  readonly target: string;
  readonly nextAt: number | null;
  readonly pausedUntil: number | null;
}

interface PermitRow extends SlotHolder {
  readonly tool: string;
  readonly target: string;
}

/** Locks the books of these keys and reads them. One that is not there is left out: {@link createBooks} makes it. */
export async function lockBooks(
  tx: Tx,
  keys: readonly string[],
  { holder, now }: { holder: string; now?: Date },
): Promise<{ books: Map<string, Book>; now: number }> {
  const named = namesOf(keys);
  const { rows: found } = await tx.query<BookRow>(
    `select tool, target, ${inMs('next_start_at')} as "nextAt", ${inMs('paused_until')} as "pausedUntil"
      from muster.tool_limits where (tool, target) in (select * from unnest($1::text[], $2::text[]))
      order by tool, target for update`,
    named,
  );
  // Another statement, so that it sees what was written while the locks were waited for.
  const { rows } = await tx.query<{ at: number; permits: PermitRow[] | null }>(
    `with instant as (select coalesce($3::timestamptz, clock_timestamp()) as at)
      select ${inMs('at')} as at, (
        select json_agg(json_build_object('tool', tool, 'target', target, 'holder', holder, 'slots', slots,
          'wanted', wanted, 'waitingSince', ${inMs('waiting_since')}, 'turnEndsAt', ${inMs('turn_ends_at')}))
          from muster.tool_permits
          where (tool, target) in (select * from unnest($1::text[], $2::text[]))
            and (expires_at > at or holder = $4)
      ) as permits from instant`,
    [...named, now ?? null, holder],
  );
  const { at, permits } = rows[0] as { at: number; permits: PermitRow[] | null };
  const byKey = Map.groupBy(permits ?? [], (row) => rowKey(row));
  const books = found.map((row): [string, Book] => {
    const holders = byKey.get(rowKey(row)) ?? [];
    const mine = holders.find((one) => one.holder === holder);
    return [rowKey(row), { ...row, changed: false, mine, others: holders.filter((one) => one !== mine) }];
  });
  return { books: new Map(books), now: at };
}

/** Makes the books that are missing. Never inside a transaction that holds locks. */
export async function createBooks(db: Queryable, keys: readonly string[]): Promise<void> {
  await db.query(
    `insert into muster.tool_limits (tool, target) select * from unnest($1::text[], $2::text[])
      order by 1, 2 on conflict do nothing`,
    namesOf(keys),
  );
}

/** Writes the books that changed. */
export async function writeBooks(tx: Tx, all: readonly Book[]): Promise<void> {
  const books = all.filter((book) => book.changed);
  if (books.length === 0) return;
  await tx.query(
    `update muster.tool_limits set next_start_at = ${atMs('changed.next_at')}, paused_until = ${atMs('changed.paused')}
      from unnest($1::text[], $2::text[], $3::float8[], $4::float8[]) as changed (tool, target, next_at, paused)
      where tool_limits.tool = changed.tool and tool_limits.target = changed.target`,
    [
      books.map((book) => book.tool),
      books.map((book) => book.target),
      books.map((book) => book.nextAt),
      books.map((book) => book.pausedUntil),
    ],
  );
}

/** Writes what a worker is to have, and takes away what it neither has nor wants any more. */
export async function writePermits(
  tx: Tx,
  permits: readonly KeptPermit[],
  { holder, leaseMs }: { holder: string; leaseMs: number },
  now: number,
): Promise<void> {
  const named = permits.map(({ limited, share }) => {
    const [tool, target] = splitKey(keyOf(limited));
    return { tool, target, ...share };
  });
  const isOver = ({ slots, wanted }: SlotHolder) => slots === 0 && wanted === 0;
  const kept = named.filter((permit) => !isOver(permit));
  const ended = named.filter(isOver);
  if (kept.length > 0) {
    await tx.query(
      `insert into muster.tool_permits as permits
          (tool, target, holder, slots, wanted, waiting_since, turn_ends_at, expires_at)
        select tool, target, $1, slots, wanted, ${atMs('since')}, ${atMs('turn')}, ${atMs('$2::float8')}
          from unnest($3::text[], $4::text[], $5::int[], $6::int[], $7::float8[], $8::float8[])
            as kept (tool, target, slots, wanted, since, turn)
        on conflict (tool, target, holder) do update set slots = excluded.slots, wanted = excluded.wanted,
          waiting_since = excluded.waiting_since, turn_ends_at = excluded.turn_ends_at, expires_at = excluded.expires_at
        where (permits.slots, permits.wanted, permits.waiting_since, permits.turn_ends_at)
            is distinct from (excluded.slots, excluded.wanted, excluded.waiting_since, excluded.turn_ends_at)
          or permits.expires_at < ${atMs('$9::float8')}`,
      [
        holder,
        now + leaseMs,
        kept.map((share) => share.tool),
        kept.map((share) => share.target),
        kept.map((share) => share.slots),
        kept.map((share) => share.wanted),
        kept.map((share) => share.waitingSince),
        kept.map((share) => share.turnEndsAt),
        now + leaseMs * RENEW_SHARE,
      ],
    );
  }
  if (ended.length > 0) {
    await tx.query(
      `delete from muster.tool_permits
        where holder = $3 and (tool, target) in (select * from unnest($1::text[], $2::text[]))`,
      [ended.map((permit) => permit.tool), ended.map((permit) => permit.target), holder],
    );
  }
}

/** A key: the tool's name, and the target's as the store can hold it. A long one is known by its digest. */
export function keyOf({ tool, target }: Limited): string {
  const text = storableText(target ?? '');
  const digest = () => `sha256:${createHash('sha256').update(text).digest('hex')}`;
  return `${storableText(tool)}\0${Buffer.byteLength(text) > MAX_TARGET_BYTES ? digest() : text}`;
}

function rowKey({ tool, target }: { readonly tool: string; readonly target: string }): string {
  return `${tool}\0${target}`;
}

function splitKey(key: string): [tool: string, target: string] {
  const at = key.indexOf('\0');
  return [key.slice(0, at), key.slice(at + 1)];
}

function namesOf(keys: readonly string[]): [tools: string[], targets: string[]] {
  const names = keys.map(splitKey);
  return [names.map(([tool]) => tool), names.map(([, target]) => target)];
}

function inMs(column: string): string {
  return `(extract(epoch from ${column}) * 1000)::float8`;
}

function atMs(value: string): string {
  return `to_timestamp(${value} / 1000)`;
}
