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
import type { OutcomeCounts } from './chunks.ts';
import type { Queryable, Tx } from './database.ts';
import { SettlementInvalidError } from './errors.ts';
import { insertSubjects, type SubjectSettlement } from './insert-subjects.ts';
import type { SubjectNames } from './plan-chunks.ts';
import { keysJson } from './plan-chunks.ts';

/** What an attempt hands in for a chunk. */
export interface ChunkSettlement {
  readonly chunkId: string;
  readonly fence: number;
  /** One entry a subject, for the first subjects of the chunk in order; at least one. */
  readonly subjects: readonly SubjectSettlement[];
  /** How many of them are `not_checked` because their chart failed, timed out or died: what an error budget counts. */
  readonly failed?: number;
  /** Ledgers, meanings, steps, counters: for collect, opaque here. */
  readonly summary?: unknown;
  readonly walkRef?: string;
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
  readonly keys: readonly SubjectNames[];
}

/**
 * Settles a chunk, or the first part of it.
 *
 * @throws SettlementInvalidError when the settlement does not fit the chunk
 * @throws ArtifactNotStagedError when an artifact was not staged by this attempt
 */
export function settleChunk(db: Queryable, settlement: ChunkSettlement): Promise<'settled' | 'lost'> {
  const now = settlement.now ?? new Date();
  return db.transaction(async (tx) => {
    const chunk = await lockOpenChunk(tx, settlement);
    if (chunk === undefined) return 'lost';
    checkFit(chunk, settlement);
    const names = chunk.keys.slice(0, settlement.subjects.length);
    await insertSubjects(tx, { ...chunk, chunkId: chunk.id }, names, settlement.subjects, now);
    await closeChunk(tx, chunk, settlement, now);
    await openRemainder(tx, chunk, settlement);
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
        chunks.plan_fence as "planFence", chunks.wave, chunks.keys
      from muster.chunks join muster.runs on runs.id = chunks.run_id
      where chunks.id = $1 and chunks.fence = $2 and chunks.state = 'open' and runs.phase = 'assess'
      for no key update of chunks`,
    [settlement.chunkId, settlement.fence],
  );
  return rows[0];
}

function checkFit(chunk: OpenChunk, settlement: ChunkSettlement): void {
  const covered = settlement.subjects.length;
  if (covered < 1 || covered > chunk.size) {
    throw new SettlementInvalidError(`a settlement of a chunk of ${chunk.size} covers ${covered} subjects`);
  }
  if (covered < chunk.size !== (settlement.remainder !== undefined)) {
    throw new SettlementInvalidError(
      `a settlement of ${covered} of ${chunk.size} subjects came ${settlement.remainder ? 'with' : 'without'} a remainder`,
    );
  }
  const { failed = 0, subjects } = settlement;
  const { notChecked } = countSettlement(subjects);
  if (failed < 0 || failed > notChecked) {
    throw new SettlementInvalidError(`a settlement with ${notChecked} subjects not checked says that ${failed} failed`);
  }
}

async function closeChunk(tx: Tx, chunk: OpenChunk, settlement: ChunkSettlement, now: Date): Promise<void> {
  const counts = countSettlement(settlement.subjects);
  const covered = settlement.subjects.length;
  await tx.query(
    `update muster.chunks set state = 'settled', settled_at = $2, items = null, size = $3, keys = $4::json,
        ok_count = $5, problem_count = $6, declined_count = $7, not_checked_count = $8, cannot_cover_count = $9,
        summary = $10::json, walk_ref = $11, failed_count = $12
      where id = $1`,
    [
      chunk.id,
      now,
      covered,
      keysJson(chunk.keys.slice(0, covered)),
      counts.ok,
      counts.problem,
      counts.declined,
      counts.notChecked,
      counts.cannotCover,
      json(settlement.summary),
      settlement.walkRef ?? null,
      settlement.failed ?? 0,
    ],
  );
}

async function openRemainder(tx: Tx, chunk: OpenChunk, settlement: ChunkSettlement): Promise<void> {
  if (settlement.remainder === undefined) return;
  const covered = settlement.subjects.length;
  await tx.query(
    `insert into muster.chunks (id, tenant, session_id, run_id, first_ordinal, size, state, plan_fence, items, keys,
        wave, starts)
      values ($1, $2, $3, $4, $5, $6, 'open', $7, $8, $9::json, $10, $11)`,
    [
      settlement.remainder.id,
      chunk.tenant,
      chunk.sessionId,
      chunk.runId,
      chunk.firstOrdinal + covered,
      chunk.size - covered,
      chunk.planFence,
      settlement.remainder.items,
      keysJson(chunk.keys.slice(covered)),
      chunk.wave,
      settlement.remainder.starts ?? 0,
    ],
  );
}

/** Counts subjects by how they ended. */
export function countSettlement(subjects: readonly SubjectSettlement[]): OutcomeCounts {
  const counts = { ok: 0, problem: 0, declined: 0, notChecked: 0, cannotCover: 0 };
  for (const subject of subjects) {
    if (subject.outcome === 'not_checked') counts.notChecked += 1;
    else if (subject.outcome === 'cannot_cover') counts.cannotCover += 1;
    else counts[subject.standing] += 1;
  }
  return counts;
}

function json(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value);
}
