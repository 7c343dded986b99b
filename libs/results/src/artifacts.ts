/**
 * Rows of artifacts (DESIGN decision 12): `staged` before the object is put, `committed` by the transaction that makes
 * use of it, `deleting` until the object is gone and the row is forgotten.
 *
 * Invariants:
 * - there is never an object without a row, so nothing is orphaned in the store;
 * - an attempt commits only what it staged itself, under its own fence;
 * - an artifact is condemned only when its attempt can no longer commit it, so a committed row has its object.
 */

import type { Queryable, Tx } from './database.ts';
import { ArtifactNotStagedError } from './errors.ts';
import type { RunScope } from './run-record.ts';

export type ArtifactState = 'staged' | 'committed' | 'deleting';

/** An artifact as it is announced, before its object is put. */
export interface ArtifactStaging {
  readonly ref: string;
  readonly tenant: string;
  readonly sessionId: string;
  readonly runId: string;
  /** The chunk whose attempt makes it; without one, the run's attempt does. */
  readonly chunkId?: string;
  /** The fence of that attempt. */
  readonly fence: number;
  /** What it is for: `walk`, `recording`, `segment`, `manifest`, ... */
  readonly purpose: string;
  /** Who makes it, for people: a worker's id. */
  readonly owner: string;
  readonly kind: string;
  readonly mediaType: string;
  /** The conversation id that the object is stored under. */
  readonly storeConversation: string;
  readonly now?: Date;
}

/** What is known of an artifact once its object is there. */
export interface ArtifactCommit {
  readonly ref: string;
  readonly bytes: number;
  readonly digest?: string;
}

export interface ArtifactRecord {
  readonly ref: string;
  readonly tenant: string;
  readonly sessionId: string;
  readonly runId: string | null;
  readonly chunkId: string | null;
  readonly purpose: string;
  readonly state: ArtifactState;
  readonly owner: string;
  readonly fence: number | null;
  readonly kind: string;
  readonly mediaType: string;
  readonly bytes: number | null;
  readonly digest: string | null;
  readonly storeConversation: string;
  readonly keep: boolean;
  readonly createdAt: Date;
  readonly committedAt: Date | null;
}

export const ARTIFACT_COLUMNS = `artifacts.ref, artifacts.tenant, artifacts.session_id as "sessionId",
  artifacts.run_id as "runId", artifacts.chunk_id as "chunkId", artifacts.purpose, artifacts.state, artifacts.owner,
  artifacts.fence, artifacts.kind, artifacts.media_type as "mediaType", artifacts.bytes, artifacts.digest,
  artifacts.store_conversation as "storeConversation", artifacts.keep, artifacts.created_at as "createdAt",
  artifacts.committed_at as "committedAt"`;

/** Announces an artifact. Do this before the put, in its own transaction. */
export async function stageArtifact(db: Queryable, staging: ArtifactStaging): Promise<void> {
  await db.query(
    `insert into muster.artifacts (ref, tenant, session_id, run_id, chunk_id, purpose, state, owner, fence, kind,
      media_type, store_conversation, created_at)
    values ($1, $2, $3, $4, $5, $6, 'staged', $7, $8, $9, $10, $11, $12)`,
    [
      staging.ref,
      staging.tenant,
      staging.sessionId,
      staging.runId,
      staging.chunkId ?? null,
      staging.purpose,
      staging.owner,
      staging.fence,
      staging.kind,
      staging.mediaType,
      staging.storeConversation,
      staging.now ?? new Date(),
    ],
  );
}

/**
 * Commits what one attempt staged. The caller holds the row lock of the chunk or run, and has checked the fence there.
 *
 * @throws ArtifactNotStagedError when one of them was not staged by this attempt
 */
export async function commitArtifacts(
  tx: Tx,
  attempt: { runId: string; chunkId?: string; fence: number },
  artifacts: readonly ArtifactCommit[],
  now: Date,
): Promise<void> {
  if (artifacts.length === 0) return;
  const { rowCount } = await tx.query(
    `update muster.artifacts set state = 'committed', bytes = done.bytes, digest = done.digest, committed_at = $7
      from unnest($1::text[], $2::bigint[], $3::text[]) as done (ref, bytes, digest)
      where artifacts.ref = done.ref and artifacts.state = 'staged' and artifacts.run_id = $4
        and artifacts.chunk_id is not distinct from $5::uuid and artifacts.fence = $6`,
    [
      artifacts.map((artifact) => artifact.ref),
      artifacts.map((artifact) => artifact.bytes),
      artifacts.map((artifact) => artifact.digest ?? null),
      attempt.runId,
      attempt.chunkId ?? null,
      attempt.fence,
      now,
    ],
  );
  if (rowCount !== artifacts.length) throw new ArtifactNotStagedError(artifacts.length, rowCount);
}

/** The artifact, when it is committed and of this tenant (and session). */
export async function findArtifact(
  db: Queryable,
  query: { tenant: string; sessionId?: string; ref: string },
): Promise<ArtifactRecord | undefined> {
  const { rows } = await db.query<ArtifactRecord>(
    `select ${ARTIFACT_COLUMNS} from muster.artifacts
      where ref = $1 and tenant = $2 and ($3::uuid is null or session_id = $3) and state = 'committed'`,
    [query.ref, query.tenant, query.sessionId ?? null],
  );
  return rows[0];
}

/** The run's own committed artifacts (not its chunks' segments, not its uploads), oldest first, at most `limit`. */
export async function listRunArtifacts(db: Queryable, query: RunScope & { limit: number }): Promise<ArtifactRecord[]> {
  const { rows } = await db.query<ArtifactRecord>(
    `select ${ARTIFACT_COLUMNS} from muster.artifacts
      where run_id = $1 and tenant = $2 and ($3::uuid is null or session_id = $3) and state = 'committed'
        and chunk_id is null
      order by created_at, ref limit $4`,
    [query.runId, query.tenant, query.sessionId ?? null, query.limit],
  );
  return rows;
}

/**
 * Condemns what nobody can commit any more, and returns what is to be deleted: object first, then
 * {@link forgetArtifact}. Rows condemned before come again, so a sweeper that died loses nothing.
 *
 * - staged by an attempt that is over (its fence has moved on, its chunk is settled, its run is final);
 * - uploads that were never finished, begun before `stagedBefore`;
 * - finished uploads that no run ever used, begun before `uploadsUnusedBefore`, unless kept on purpose.
 */
export async function takeStaleArtifacts(
  db: Queryable,
  query: { stagedBefore: Date; uploadsUnusedBefore?: Date; limit: number },
): Promise<ArtifactRecord[]> {
  return db.transaction(async (tx) => {
    await tx.query(
      `update muster.artifacts set state = 'deleting' where ref in (
        select a.ref from muster.artifacts a
          where a.state = 'staged' and a.created_at < $1
            and (a.run_id is null
              or (a.chunk_id is not null and not exists (
                select from muster.chunks c where c.id = a.chunk_id and c.state = 'open' and c.fence = a.fence))
              or (a.chunk_id is null and not exists (
                select from muster.runs r where r.id = a.run_id and r.phase <> 'done' and r.fence = a.fence)))
          order by a.created_at limit $2
      ) and state = 'staged'`,
      [query.stagedBefore, query.limit],
    );
    if (query.uploadsUnusedBefore !== undefined) await condemnUnusedUploads(tx, query.uploadsUnusedBefore, query.limit);
    const { rows } = await tx.query<ArtifactRecord>(
      `select ${ARTIFACT_COLUMNS} from muster.artifacts where state = 'deleting' order by created_at, ref limit $1`,
      [query.limit],
    );
    return rows;
  });
}

/** Forgets an artifact whose object is gone. False when it was not condemned. */
export async function forgetArtifact(db: Queryable, ref: string): Promise<boolean> {
  const { rowCount } = await db.query(`delete from muster.artifacts where ref = $1 and state = 'deleting'`, [ref]);
  return rowCount === 1;
}

async function condemnUnusedUploads(tx: Tx, before: Date, limit: number): Promise<void> {
  // The lock and the second look keep an upload that a run is claiming at this moment.
  const { rows } = await tx.query<{ ref: string }>(
    `select a.ref from muster.artifacts a
      where a.purpose = 'upload' and a.state = 'committed' and not a.keep and a.created_at < $1
        and not exists (select from muster.run_uploads u where u.ref = a.ref)
      order by a.ref limit $2 for update`,
    [before, limit],
  );
  await tx.query(
    `update muster.artifacts a set state = 'deleting' where a.ref = any($1::text[]) and a.state = 'committed'
      and not exists (select from muster.run_uploads u where u.ref = a.ref)`,
    [rows.map((row) => row.ref)],
  );
}
