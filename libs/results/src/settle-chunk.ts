/**
 * Settling a chunk (DESIGN decisions 2 to 5): one transaction, once.
 *
 * Invariants:
 * - it happens under the chunk's fence, or not at all: `lost` means that somebody else has it;
 * - the subject rows take their keys from the chunk, so what was planned is what is answered;
 * - it may cover only the first subjects; the rest is a new open chunk in the same transaction, so no instant exists at
 *   which the run has no open chunk and is not done;
 * - it never touches the run row.
 */

import type { ArtifactCommit } from './artifacts.ts';
import { commitArtifacts } from './artifacts.ts';
import type { Queryable, Tx } from './database.ts';
import { SettlementInvalidError } from './errors.ts';
import { insertSubjects } from './insert-subjects.ts';
import { type PackedSubjects, packSubjects, type SubjectSettlement } from './packed-subjects.ts';

/** What an attempt hands in for a chunk. */
export interface ChunkSettlement {
  readonly chunkId: string;
  readonly fence: number;
  /** One entry a subject, for the first subjects of the chunk in order; at least one. */
  readonly subjects: readonly SubjectSettlement[] | PackedSubjects;
  /** How many of them are `not_checked` because their chart failed, timed out or died: what an error budget counts. */
  readonly failed?: number;
  /** Ledgers, meanings, steps, counters: for collect, opaque here. */
  readonly summary?: unknown;
  /** The segment that holds the subjects' walks. */
  readonly walkRef?: string;
  /** The segment that holds their recordings. */
  readonly recordingRef?: string;
  /** Artifacts that this attempt staged. */
  readonly artifacts?: readonly ArtifactCommit[];
  /**
   * Required when fewer subjects are covered than the chunk has: the rest, encrypted anew. `starts` (default 0) hands on
   * the deaths that were counted on this chunk and not yet explained.
   */
  readonly remainder?: { readonly id: string; readonly items: Buffer; readonly starts?: number };
  readonly now?: Date;
}

interface OpenChunk {
  readonly id: string;
  readonly tenant: string;
  readonly sessionId: string;
  readonly runId: string;
  readonly runCreatedAt: Date;
  readonly firstOrdinal: number;
  readonly size: number;
  readonly planFence: number;
  readonly wave: number;
}

/**
 * Settles a chunk, or the first part of it.
 *
 * @throws SettlementInvalidError when the settlement does not fit the chunk
 * @throws ArtifactNotStagedError when an artifact was not staged by this attempt
 */
export function settleChunk(db: Queryable, settlement: ChunkSettlement): Promise<'settled' | 'lost'> {
  const now = settlement.now ?? new Date();
  const packed = 'columns' in settlement.subjects ? settlement.subjects : packSubjects(settlement.subjects);
  return db.transaction(async (tx) => {
    const chunk = await lockOpenChunk(tx, settlement);
    if (chunk === undefined) return 'lost';
    checkFit(chunk, settlement, packed);
    const { walkRef = null, recordingRef = null } = settlement;
    const source = { namesJson: null, walkRef, recordingRef };
    await insertSubjects(tx, { ...chunk, chunkId: chunk.id }, source, packed, now);
    // Before the chunk is cut: the rest takes its names from it.
    await openRemainder(tx, chunk, settlement, packed.count);
    await closeChunk(tx, chunk, settlement, packed, now);
    await commitArtifacts(
      tx,
      { runId: chunk.runId, chunkId: chunk.id, fence: settlement.fence },
      settlement.artifacts ?? [],
      now,
    );
    return 'settled';
  });
}

async function lockOpenChunk(tx: Tx, settlement: ChunkSettlement): Promise<OpenChunk | undefined> {
  const { rows } = await tx.query<OpenChunk>(
    `select chunks.id, chunks.tenant, chunks.session_id as "sessionId", chunks.run_id as "runId",
        runs.created_at as "runCreatedAt", chunks.first_ordinal as "firstOrdinal", chunks.size,
        chunks.plan_fence as "planFence", chunks.wave
      from muster.chunks join muster.runs on runs.id = chunks.run_id
      where chunks.id = $1 and chunks.fence = $2 and chunks.state = 'open' and runs.phase = 'assess'
      for no key update of chunks`,
    [settlement.chunkId, settlement.fence],
  );
  return rows[0];
}

function checkFit(chunk: OpenChunk, settlement: ChunkSettlement, { count: covered, counts }: PackedSubjects): void {
  if (covered < 1 || covered > chunk.size) {
    throw new SettlementInvalidError(`a settlement of a chunk of ${chunk.size} covers ${covered} subjects`);
  }
  if (covered < chunk.size !== (settlement.remainder !== undefined)) {
    throw new SettlementInvalidError(
      `a settlement of ${covered} of ${chunk.size} subjects came ${settlement.remainder ? 'with' : 'without'} a remainder`,
    );
  }
  const { failed = 0 } = settlement;
  if (failed < 0 || failed > counts.notChecked) {
    throw new SettlementInvalidError(
      `a settlement with ${counts.notChecked} subjects not checked says that ${failed} failed`,
    );
  }
}

async function closeChunk(
  tx: Tx,
  chunk: OpenChunk,
  settlement: ChunkSettlement,
  { count, counts }: PackedSubjects,
  now: Date,
): Promise<void> {
  await tx.query(
    `update muster.chunks set state = 'settled', settled_at = $2, items = null, size = $3,
        keys = case when size = $3 then keys else (
          select json_agg(name order by place) from json_array_elements(keys) with ordinality as names (name, place)
            where place <= $3) end,
        ok_count = $4, problem_count = $5, declined_count = $6, not_checked_count = $7, cannot_cover_count = $8,
        summary = $9::json, walk_ref = $10, failed_count = $11
      where id = $1`,
    [
      chunk.id,
      now,
      count,
      counts.ok,
      counts.problem,
      counts.declined,
      counts.notChecked,
      counts.cannotCover,
      settlement.summary === undefined ? null : JSON.stringify(settlement.summary),
      settlement.walkRef ?? null,
      settlement.failed ?? 0,
    ],
  );
}

async function openRemainder(tx: Tx, chunk: OpenChunk, settlement: ChunkSettlement, covered: number): Promise<void> {
  if (settlement.remainder === undefined) return;
  await tx.query(
    `insert into muster.chunks (id, tenant, session_id, run_id, first_ordinal, size, state, plan_fence, items, keys,
        wave, starts)
      select $2, tenant, session_id, run_id, coalesce((keys->$3::int->>3)::int, first_ordinal + $3), size - $3, 'open',
          plan_fence, $4, (
          select json_agg(name order by place) from json_array_elements(keys) with ordinality as names (name, place)
            where place > $3),
        wave, $5
      from muster.chunks where id = $1`,
    [chunk.id, settlement.remainder.id, covered, settlement.remainder.items, settlement.remainder.starts ?? 0],
  );
}
