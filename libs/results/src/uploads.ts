/**
 * Uploaded inputs: artifacts of a session that runs may name. They go when the last run that used them is sealed,
 * unless kept on purpose (DESIGN decision 13).
 *
 * The row locks here make "the last run" true: accepting a run takes its uploads in share mode, sealing one takes them
 * for update and looks again afterwards.
 */

import type { ArtifactCommit, ArtifactRecord } from './artifacts.ts';
import { ARTIFACT_COLUMNS } from './artifacts.ts';
import type { Queryable, Tx } from './database.ts';
import type { RunRecord, RunScope } from './run-record.ts';

/** An upload as it is announced, before its bytes arrive. */
export interface UploadStaging {
  readonly ref: string;
  readonly tenant: string;
  readonly sessionId: string;
  readonly owner: string;
  readonly kind: string;
  readonly mediaType: string;
  readonly storeConversation: string;
  /** Keep it when its runs are sealed. */
  readonly keep?: boolean;
  readonly now?: Date;
}

/** Announces an upload. Do this before the put. */
export async function stageUpload(db: Queryable, staging: UploadStaging): Promise<void> {
  await db.query(
    `insert into muster.artifacts (ref, tenant, session_id, purpose, state, owner, kind, media_type,
      store_conversation, keep, created_at)
    values ($1, $2, $3, 'upload', 'staged', $4, $5, $6, $7, $8, $9)`,
    [
      staging.ref,
      staging.tenant,
      staging.sessionId,
      staging.owner,
      staging.kind,
      staging.mediaType,
      staging.storeConversation,
      staging.keep ?? false,
      staging.now ?? new Date(),
    ],
  );
}

/** Makes an upload usable, once its bytes are stored. False when it was swept in between. */
export async function commitUpload(
  db: Queryable,
  upload: ArtifactCommit & { tenant: string; now?: Date },
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update muster.artifacts set state = 'committed', bytes = $3, digest = $4, committed_at = $5
      where ref = $1 and tenant = $2 and purpose = 'upload' and state = 'staged'`,
    [upload.ref, upload.tenant, upload.bytes, upload.digest ?? null, upload.now ?? new Date()],
  );
  return rowCount === 1;
}

/** Condemns an upload that did not come to its end, so that nobody can commit it any more. False when it is too late. */
export async function condemnUpload(db: Queryable, upload: { tenant: string; ref: string }): Promise<boolean> {
  const { rowCount } = await db.query(
    `update muster.artifacts set state = 'deleting'
      where ref = $1 and tenant = $2 and purpose = 'upload' and state = 'staged'`,
    [upload.ref, upload.tenant],
  );
  return rowCount === 1;
}

/** The uploads that a run uses, by ref; also those condemned since. */
export async function listRunUploads(db: Queryable, scope: RunScope): Promise<ArtifactRecord[]> {
  const { rows } = await db.query<ArtifactRecord>(
    `select ${ARTIFACT_COLUMNS} from muster.artifacts join muster.run_uploads used on used.ref = artifacts.ref
      where used.run_id = $1 and used.tenant = $2 and ($3::uuid is null or used.session_id = $3)
      order by artifacts.ref`,
    [scope.runId, scope.tenant, scope.sessionId ?? null],
  );
  return rows;
}

/** Locks those of the refs that a run of this session may use, and returns them. */
export async function lockUploads(
  tx: Tx,
  query: { tenant: string; sessionId: string; refs: readonly string[] },
): Promise<string[]> {
  if (query.refs.length === 0) return [];
  const { rows } = await tx.query<{ ref: string }>(
    `select ref from muster.artifacts
      where ref = any($1::text[]) and tenant = $2 and session_id = $3 and purpose = 'upload' and state = 'committed'
      order by ref for share`,
    [query.refs, query.tenant, query.sessionId],
  );
  return rows.map((row) => row.ref);
}

/** Writes down that a run uses uploads which {@link lockUploads} has locked. */
export async function claimUploads(tx: Tx, run: RunRecord, refs: readonly string[]): Promise<void> {
  if (refs.length === 0) return;
  await tx.query(
    `insert into muster.run_uploads (run_id, ref, tenant, session_id)
      select $1, ref, $3, $4 from unnest($2::text[]) as used (ref) on conflict do nothing`,
    [run.id, refs, run.tenant, run.sessionId],
  );
}

/** Condemns the uploads of a run that has just become final, unless kept or in use by a run that is not. */
export async function condemnUploadsOf(tx: Tx, runId: string): Promise<void> {
  const { rows } = await tx.query<{ ref: string }>(
    `select artifacts.ref from muster.artifacts join muster.run_uploads used on used.ref = artifacts.ref
      where used.run_id = $1 and artifacts.state = 'committed' and not artifacts.keep
      order by artifacts.ref for update of artifacts`,
    [runId],
  );
  if (rows.length === 0) return;
  await tx.query(
    `update muster.artifacts set state = 'deleting' where ref = any($1::text[]) and not exists (
      select from muster.run_uploads used join muster.runs on runs.id = used.run_id
        where used.ref = artifacts.ref and runs.phase <> 'done'
    )`,
    [rows.map((row) => row.ref)],
  );
}
