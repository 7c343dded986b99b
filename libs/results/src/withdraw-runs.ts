/**
 * Runs whose definition nobody has any more (DESIGN decision 7): stopped as `withdrawn`, and then ended by whoever gets
 * their jobs.
 *
 * Invariant: a run waits for its definition for the whole of the patience, counted from its own acceptance and from the
 * last offer, and it is judged only where somebody has lived for a while: after everybody was away, whoever is back first
 * does not know yet who else comes back. A run that waits for a person needs nobody's definition meanwhile.
 */

import type { Queryable } from './database.ts';
import { stopRun } from './stop-run.ts';
import { livingSince, type WorkerRecord } from './workers.ts';

/** How long somebody must have lived without a gap before anything counts as withdrawn, at most. */
const SETTLING_MS = 60_000;

/** A definition that unfinished runs wait for. */
export interface AwaitedDefinition {
  readonly digest: string;
  /** When a worker offered it last; null: nobody ever did. */
  readonly offeredAt: Date | null;
}

/** How long a definition may be missing. */
export interface WithdrawalRule {
  readonly now: Date;
  readonly patienceMs: number;
}

/** The definitions that nobody offers and nobody has offered for longer than the patience. */
export function chooseWithdrawn(
  awaited: readonly AwaitedDefinition[],
  living: readonly Pick<WorkerRecord, 'digests' | 'startedAt'>[],
  { now, patienceMs }: WithdrawalRule,
): string[] {
  const settledBefore = now.getTime() - Math.min(patienceMs, SETTLING_MS);
  if (!living.some(({ startedAt }) => startedAt.getTime() <= settledBefore)) return [];
  const offered = new Set(living.flatMap(({ digests }) => digests));
  return awaited
    .filter(({ digest, offeredAt }) => {
      const missingMs = offeredAt === null ? Infinity : now.getTime() - offeredAt.getTime();
      return !offered.has(digest) && missingMs > patienceMs;
    })
    .map(({ digest }) => digest);
}

/** Stops the runs whose definition is withdrawn, at most `limit` of them, the oldest first. Returns their ids. */
export async function withdrawRuns(db: Queryable, query: WithdrawalRule & { limit: number }): Promise<string[]> {
  const { rows: awaited } = await db.query<AwaitedDefinition>(
    `select digest, offered_at as "offeredAt" from muster.definitions
      where exists (select from muster.runs
        where runs.definition_digest = definitions.digest and phase <> 'done' and stop_reason is null
          and status <> 'interrupted')`,
  );
  if (awaited.length === 0) return [];
  const { rows: living } = await db.query<WorkerRecord>(
    `select digests, started_at as "startedAt" from muster.workers where seen_at >= $1`,
    [livingSince(query.now)],
  );
  const withdrawn = chooseWithdrawn(awaited, living, query);
  if (withdrawn.length === 0) return [];
  return db.transaction(async (tx) => {
    const { rows } = await tx.query<{ id: string }>(
      `select id from muster.runs
        where definition_digest = any($1::text[]) and created_at < $2 and phase <> 'done' and stop_reason is null
          and status <> 'interrupted'
        order by created_at, id limit $3 for no key update skip locked`,
      [withdrawn, new Date(query.now.getTime() - query.patienceMs), query.limit],
    );
    for (const { id } of rows) await stopRun(tx, { runId: id, stopReason: 'withdrawn', now: query.now });
    return rows.map(({ id }) => id);
  });
}
