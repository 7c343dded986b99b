/** Living workers and the definitions whose code they have (DESIGN decision 7). */

import type { Queryable } from './database.ts';

export interface WorkerRecord {
  readonly id: string;
  readonly digests: readonly string[];
  /** Since when it has lived without a gap. */
  readonly startedAt: Date;
  readonly seenAt: Date;
}

/** A worker that was not seen for so long may be dead. */
const LIVING_MS = 30_000;
/** A worker that was silent for so long knows nothing of the time between. */
const GAP_MS = 60_000;
/** Offers are noted no more often: they only have to be exact beside the minutes that a definition may be missing. */
const OFFER_NOTE_MS = 10_000;

/** The instant since which a living worker has been seen. */
export function livingSince(now: Date): Date {
  return new Date(now.getTime() - LIVING_MS);
}

/** Says that a worker lives and what it offers. */
export async function heartbeatWorker(
  db: Queryable,
  input: { id: string; digests: readonly string[]; now?: Date },
): Promise<void> {
  const now = input.now ?? new Date();
  await db.query(
    `insert into muster.workers (id, digests, started_at, seen_at) values ($1, $2::text[], $3, $3)
      on conflict (id) do update set digests = excluded.digests, seen_at = excluded.seen_at,
        started_at = case when workers.seen_at < $4 then excluded.seen_at else workers.started_at end`,
    [input.id, input.digests, now, new Date(now.getTime() - GAP_MS)],
  );
  await noteOffers(db, input.digests, now, new Date(now.getTime() - OFFER_NOTE_MS));
}

/** Workers seen at or after an instant, by id. */
export async function listWorkers(db: Queryable, query: { seenSince: Date }): Promise<WorkerRecord[]> {
  const { rows } = await db.query<WorkerRecord>(
    `select id, digests, started_at as "startedAt", seen_at as "seenAt" from muster.workers
      where seen_at >= $1 order by id`,
    [query.seenSince],
  );
  return rows;
}

/** Whether a living worker has the code of a definition. */
export async function isOffered(db: Queryable, query: { digest: string; now: Date }): Promise<boolean> {
  const { rowCount } = await db.query(
    'select from muster.workers where seen_at >= $1 and digests @> array[$2::text] limit 1',
    [livingSince(query.now), query.digest],
  );
  return rowCount > 0;
}

/** The definitions whose code some living worker has. */
export async function offeredDigests(db: Queryable, query: { now: Date }): Promise<string[]> {
  const { rows } = await db.query<{ digest: string }>(
    'select distinct unnest(digests) as digest from muster.workers where seen_at >= $1',
    [livingSince(query.now)],
  );
  return rows.map(({ digest }) => digest);
}

/** Forgets a worker that stops in good order. */
export async function forgetWorker(db: Queryable, id: string, now: Date = new Date()): Promise<void> {
  const { rows } = await db.query<{ digests: string[] }>('delete from muster.workers where id = $1 returning digests', [
    id,
  ]);
  for (const { digests } of rows) await noteOffers(db, digests, now, now);
}

/** Forgets workers not seen since an instant. Returns how many. */
export async function pruneWorkers(db: Queryable, query: { seenBefore: Date }): Promise<number> {
  const { rowCount } = await db.query('delete from muster.workers where seen_at < $1', [query.seenBefore]);
  return rowCount;
}

/** Notes that definitions were offered now, where that was not noted since an instant. */
async function noteOffers(db: Queryable, digests: readonly string[], now: Date, notedSince: Date): Promise<void> {
  // Whoever holds a row notes the same, so nobody waits for it.
  await db.query(
    `update muster.definitions set offered_at = $2 where digest in (
      select digest from muster.definitions
        where digest = any($1::text[]) and (offered_at is null or offered_at < $3)
        for no key update skip locked)`,
    [digests, now, notedSince],
  );
}
