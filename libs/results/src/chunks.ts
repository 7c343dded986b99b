/** Chunks: claiming, handing back, and counting. How one is settled is in settle-chunk.ts. */

import type { Queryable } from './database.ts';
import type { OutcomeCounts } from './packed-subjects.ts';
import type { SubjectNames } from './plan-chunks.ts';
import type { RunRecord, RunScope } from './run-record.ts';
import { RUN_IS_ASSESSED } from './run-record.ts';
import { getRun, wakeDispatcher } from './runs.ts';

export interface ChunkRecord {
  readonly id: string;
  readonly tenant: string;
  readonly sessionId: string;
  readonly runId: string;
  readonly firstOrdinal: number;
  readonly size: number;
  readonly state: 'open' | 'settled';
  readonly planFence: number;
  /** The encrypted items; null once settled. */
  readonly items: Buffer | null;
  readonly keys: readonly SubjectNames[];
  readonly fence: number;
  /** Claims that were not handed back in good order: what died on it. */
  readonly starts: number;
  /** How often a process ended while it assessed the chunk's first subject alone ({@link markAssessing}). */
  readonly subjectDeaths: number;
  readonly dispatchNo: number;
  readonly wave: number;
}

/** What an attempt at a chunk holds. */
export interface ChunkClaim {
  readonly fence: number;
  readonly starts: number;
  readonly chunk: ChunkRecord;
  readonly run: RunRecord;
}

/** How far a run is: the sum over its chunks. `total` is null until the plan is frozen. */
export interface RunProgress extends OutcomeCounts {
  readonly total: number | null;
  readonly settled: number;
  readonly openChunks: number;
  readonly settledChunks: number;
}

/** What collect reads of a settled chunk. */
export interface ChunkSummary extends OutcomeCounts {
  readonly chunkId: string;
  readonly firstOrdinal: number;
  readonly size: number;
  readonly wave: number;
  /** As the settlement gave it; opaque here. */
  readonly summary: unknown;
  readonly walkRef: string | null;
}

const CHUNK_COLUMNS = `chunks.id, chunks.tenant, chunks.session_id as "sessionId", chunks.run_id as "runId",
  chunks.first_ordinal as "firstOrdinal", chunks.size, chunks.state, chunks.plan_fence as "planFence", chunks.items,
  chunks.keys, chunks.fence, chunks.starts, chunks.dispatch_no as "dispatchNo", chunks.wave,
  chunks.subject_deaths as "subjectDeaths"`;
const SUMMARY_COLUMNS = `id as "chunkId", first_ordinal as "firstOrdinal", size, wave, ok_count as ok,
  problem_count as problem, declined_count as declined, not_checked_count as "notChecked",
  cannot_cover_count as "cannotCover", summary, walk_ref as "walkRef"`;
const SUMMARY_PAGE = 100;

/**
 * Claims an open chunk of a run that is being assessed, or returns undefined: it is settled, its run is elsewhere, or it
 * was dispatched again since this job was made.
 */
export function claimChunk(
  db: Queryable,
  claim: { chunkId: string; dispatchNo: number },
): Promise<ChunkClaim | undefined> {
  return db.transaction(async (tx) => {
    const { rows } = await tx.query<ChunkRecord>(
      `update muster.chunks set fence = chunks.fence + 1, starts = chunks.starts + 1, assessing = false,
          subject_deaths = chunks.subject_deaths + chunks.assessing::int
        from muster.runs
        where chunks.id = $1 and chunks.state = 'open' and chunks.dispatch_no <= $2
          and runs.id = chunks.run_id and ${RUN_IS_ASSESSED}
        returning ${CHUNK_COLUMNS}`,
      [claim.chunkId, claim.dispatchNo],
    );
    const chunk = rows[0];
    if (chunk === undefined) return undefined;
    const run = (await getRun(tx, { tenant: chunk.tenant, runId: chunk.runId }))!;
    return { fence: chunk.fence, starts: chunk.starts, chunk, run };
  });
}

/**
 * Notes that the first subject of a claimed chunk begins, or has ceased, to be assessed alone in its process. Who dies in
 * between died of it; who dies before or after did not.
 */
export async function markAssessing(
  db: Queryable,
  claim: { chunkId: string; fence: number; assessing: boolean },
): Promise<void> {
  await db.query(`update muster.chunks set assessing = $3 where id = $1 and fence = $2 and state = 'open'`, [
    claim.chunkId,
    claim.fence,
    claim.assessing,
  ]);
}

/** How often an open chunk was claimed and not handed back or settled since; undefined when it is not open. */
export async function chunkStarts(db: Queryable, chunkId: string): Promise<number | undefined> {
  const { rows } = await db.query<{ starts: number }>(
    `select starts from muster.chunks where id = $1 and state = 'open'`,
    [chunkId],
  );
  return rows[0]?.starts;
}

/**
 * Hands a chunk back in good order, so that it is sent again at once and the attempt does not count as a start. False
 * when the fence has moved on.
 */
export function releaseChunk(db: Queryable, claim: { chunkId: string; fence: number }): Promise<boolean> {
  return db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      `update muster.chunks set fence = fence + 1, starts = greatest(starts - 1, 0), dispatched_at = null
        where id = $1 and fence = $2 and state = 'open'`,
      [claim.chunkId, claim.fence],
    );
    if (rowCount === 0) return false;
    await wakeDispatcher(tx);
    return true;
  });
}

/** How far the run is; undefined when it is not visible in this scope. */
export async function runProgress(db: Queryable, scope: RunScope): Promise<RunProgress | undefined> {
  const { rows } = await db.query<RunProgress>(
    `select runs.subjects_total as total,
        coalesce(sum(size) filter (where state = 'settled'), 0) as settled,
        coalesce(sum(ok_count), 0) as ok, coalesce(sum(problem_count), 0) as problem,
        coalesce(sum(declined_count), 0) as declined, coalesce(sum(not_checked_count), 0) as "notChecked",
        coalesce(sum(cannot_cover_count), 0) as "cannotCover",
        count(*) filter (where state = 'open') as "openChunks",
        count(*) filter (where state = 'settled') as "settledChunks"
      from muster.runs left join muster.chunks on chunks.run_id = runs.id and chunks.plan_fence = runs.plan_fence
      where runs.id = $1 and runs.tenant = $2 and ($3::uuid is null or runs.session_id = $3)
      group by runs.id`,
    [scope.runId, scope.tenant, scope.sessionId ?? null],
  );
  return rows[0];
}

/** The settled chunks of a run in order, read in pages: never more than a page is held. */
export async function* chunkSummaries(db: Queryable, scope: RunScope): AsyncGenerator<ChunkSummary, void> {
  let after = -1;
  for (;;) {
    const { rows } = await db.query<ChunkSummary>(
      `select ${SUMMARY_COLUMNS} from muster.chunks
        where run_id = $1 and tenant = $2 and ($3::uuid is null or session_id = $3) and state = 'settled'
          and first_ordinal > $4
        order by first_ordinal limit $5`,
      [scope.runId, scope.tenant, scope.sessionId ?? null, after, SUMMARY_PAGE],
    );
    yield* rows;
    if (rows.length < SUMMARY_PAGE) return;
    after = rows.at(-1)!.firstOrdinal;
  }
}
