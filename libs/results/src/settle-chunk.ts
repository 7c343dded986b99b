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
import { storableText } from './bounded-text.ts';
import type { OutcomeCounts } from './chunks.ts';
import type { Queryable, Tx } from './database.ts';
import { SettlementInvalidError } from './errors.ts';
import type { SubjectNames } from './plan-chunks.ts';
import { keysJson } from './plan-chunks.ts';

/** Where a subject's walk rows lie in its segment, and what they hash to. */
export interface WalkRange {
  readonly ref: string;
  readonly offset: number;
  readonly length: number;
  readonly sha256: string;
}

/** How one subject ended. */
export type SubjectSettlement = (
  | { readonly outcome: 'verdict'; readonly verdict: string; readonly standing: 'ok' | 'problem' }
  | { readonly outcome: 'declined'; readonly verdict: string; readonly standing: 'declined' }
  | { readonly outcome: 'not_checked' }
  | { readonly outcome: 'cannot_cover' }
) & {
  /** Required unless there is a verdict. */
  readonly reasonCode?: string;
  readonly reason?: string;
  /** The row's columns; the order of its keys is kept. */
  readonly columns?: unknown;
  readonly evidence?: unknown;
  readonly walk?: WalkRange;
};

/** What an attempt hands in for a chunk. */
export interface ChunkSettlement {
  readonly chunkId: string;
  readonly fence: number;
  /** One entry a subject, for the first subjects of the chunk in order; at least one. */
  readonly subjects: readonly SubjectSettlement[];
  /** Ledgers, meanings, steps, counters: for collect, opaque here. */
  readonly summary?: unknown;
  readonly walkRef?: string;
  /** Artifacts that this attempt staged. */
  readonly artifacts?: readonly ArtifactCommit[];
  /** Required when fewer subjects are covered than the chunk has: the rest, encrypted anew. */
  readonly remainder?: { readonly id: string; readonly items: Buffer };
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
    await insertSubjects(tx, chunk, settlement.subjects, now);
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
        chunks.plan_fence as "planFence", chunks.keys
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
}

async function insertSubjects(
  tx: Tx,
  chunk: OpenChunk,
  subjects: readonly SubjectSettlement[],
  now: Date,
): Promise<void> {
  const names = chunk.keys.slice(0, subjects.length);
  await tx.query(
    `insert into muster.subjects (tenant, session_id, run_created_at, run_id, chunk_id, ordinal, key, identity, target,
      outcome, verdict, standing, reason_code, reason, columns, evidence, walk_ref, walk_offset, walk_length,
      walk_sha256, settled_at)
    select $1, $2, $3, $4, $5, $6::int + row.place::int - 1, row.key, row.identity, row.target, row.outcome,
      row.verdict, row.standing, row.reason_code, row.reason, row.columns::json, row.evidence::json, row.walk_ref,
      row.walk_offset, row.walk_length, row.walk_sha256, $7
    from unnest($8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[],
      $16::text[], $17::text[], $18::text[], $19::bigint[], $20::bigint[], $21::text[]) with ordinality
      as row (key, identity, target, outcome, verdict, standing, reason_code, reason, columns, evidence, walk_ref,
        walk_offset, walk_length, walk_sha256, place)`,
    [
      chunk.tenant,
      chunk.sessionId,
      chunk.runCreatedAt,
      chunk.runId,
      chunk.id,
      chunk.firstOrdinal,
      now,
      names.map(([key]) => key),
      names.map(([, identity]) => identity),
      names.map(([, , target]) => target),
      subjects.map((subject) => subject.outcome),
      subjects.map((subject) => ('verdict' in subject ? storableText(subject.verdict) : null)),
      subjects.map((subject) => ('standing' in subject ? subject.standing : null)),
      subjects.map((subject) => subject.reasonCode ?? null),
      subjects.map((subject) => (subject.reason === undefined ? null : storableText(subject.reason))),
      subjects.map((subject) => json(subject.columns)),
      subjects.map((subject) => json(subject.evidence)),
      subjects.map((subject) => subject.walk?.ref ?? null),
      subjects.map((subject) => subject.walk?.offset ?? null),
      subjects.map((subject) => subject.walk?.length ?? null),
      subjects.map((subject) => subject.walk?.sha256 ?? null),
    ],
  );
}

async function closeChunk(tx: Tx, chunk: OpenChunk, settlement: ChunkSettlement, now: Date): Promise<void> {
  const counts = countSettlement(settlement.subjects);
  const covered = settlement.subjects.length;
  await tx.query(
    `update muster.chunks set state = 'settled', settled_at = $2, items = null, size = $3, keys = $4::json,
        ok_count = $5, problem_count = $6, declined_count = $7, not_checked_count = $8, cannot_cover_count = $9,
        summary = $10::json, walk_ref = $11
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
    ],
  );
}

async function openRemainder(tx: Tx, chunk: OpenChunk, settlement: ChunkSettlement): Promise<void> {
  if (settlement.remainder === undefined) return;
  const covered = settlement.subjects.length;
  await tx.query(
    `insert into muster.chunks (id, tenant, session_id, run_id, first_ordinal, size, state, plan_fence, items, keys)
      values ($1, $2, $3, $4, $5, $6, 'open', $7, $8, $9::json)`,
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
