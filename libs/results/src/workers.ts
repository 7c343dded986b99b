/** Living workers and the definitions whose code they have (DESIGN decision 7). */

import type { Queryable } from './database.ts';

export interface WorkerRecord {
  readonly id: string;
  readonly digests: readonly string[];
  readonly startedAt: Date;
  readonly seenAt: Date;
}

/** Says that a worker lives and what it offers. */
export async function heartbeatWorker(
  db: Queryable,
  input: { id: string; digests: readonly string[]; now?: Date },
): Promise<void> {
  await db.query(
    `insert into muster.workers (id, digests, started_at, seen_at) values ($1, $2::text[], $3, $3)
      on conflict (id) do update set digests = excluded.digests, seen_at = excluded.seen_at`,
    [input.id, input.digests, input.now ?? new Date()],
  );
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

/** Forgets a worker that stops in good order. */
export async function forgetWorker(db: Queryable, id: string): Promise<void> {
  await db.query('delete from muster.workers where id = $1', [id]);
}

/** Forgets workers not seen since an instant. Returns how many. */
export async function pruneWorkers(db: Queryable, query: { seenBefore: Date }): Promise<number> {
  const { rowCount } = await db.query('delete from muster.workers where seen_at < $1', [query.seenBefore]);
  return rowCount;
}
