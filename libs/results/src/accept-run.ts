/**
 * Accepting a run: one transaction, and the acknowledgement is its commit (DESIGN "The way of a run").
 *
 * Invariants:
 * - the run, its input, definition, session and uploads are there together or not at all;
 * - one idempotency key in a session makes one run, however many requests carry it at once;
 * - a tenant's limit on open runs holds, however many requests come at once;
 * - a refusal writes nothing: everything that can refuse is looked at before the first write.
 */

import type { Queryable, Tx } from './database.ts';
import { keepDefinition } from './definitions.ts';
import { keepInput } from './inputs.ts';
import { insertRun, type RunAcceptance } from './insert-run.ts';
import type { RunRecord } from './run-record.ts';
import { RUN_COLUMNS } from './run-record.ts';
import { lockReferencedRun, tellChanged, wakeDispatcher } from './runs.ts';
import { ensureSession, findSession } from './sessions.ts';
import { hasNoRunLeft, lockTenantQuota, type QuotaName } from './tenant-quotas.ts';
import { claimUploads, lockUploads } from './uploads.ts';

export type AcceptOutcome =
  | { readonly outcome: 'accepted'; readonly run: RunRecord }
  /** The same request was accepted before: this is its run. */
  | { readonly outcome: 'replayed'; readonly run: RunRecord }
  /** Another request used this key: that is its run. */
  | { readonly outcome: 'conflict'; readonly runId: string }
  /** Uploads that are not there, not finished, already deleted, or of another session. */
  | { readonly outcome: 'missing_refs'; readonly refs: readonly string[] }
  | { readonly outcome: 'parent_not_found' }
  /** The run that is to be done again is not this tenant's. */
  | { readonly outcome: 'rerun_source_not_found' }
  | { readonly outcome: 'session_not_found' }
  /** The tenant has as much as it may. */
  | { readonly outcome: 'quota_exceeded'; readonly quota: QuotaName; readonly limit: number };

/** Accepts a run, or says why not. */
export function acceptRun(db: Queryable, acceptance: RunAcceptance): Promise<AcceptOutcome> {
  return db.transaction((tx) => acceptRunIn(tx, acceptance));
}

/** Accepts a run as part of a transaction that does more: what else it writes and the run are there together or not at all. */
export async function acceptRunIn(tx: Tx, acceptance: RunAcceptance): Promise<AcceptOutcome> {
  const refusal = await lookBeforeWriting(tx, acceptance);
  if (refusal !== undefined) return refusal;
  const at = acceptance.acceptedAt ?? new Date();
  const sessionId = await chosenSession(tx, acceptance, at);
  await keepDefinition(tx, acceptance.definition, at);
  await keepInput(tx, acceptance.tenant, acceptance.input, at);
  const run = await insertRun(tx, acceptance, sessionId, at);
  // Another request with this key was accepted between the look and the insert.
  if (run === undefined) return (await findReplay(tx, acceptance, sessionId))!;
  await claimUploads(tx, run, acceptance.uploads ?? []);
  await wakeDispatcher(tx);
  await tellChanged(tx, run.id);
  return { outcome: 'accepted', run };
}

async function lookBeforeWriting(tx: Tx, acceptance: RunAcceptance): Promise<AcceptOutcome | undefined> {
  const { tenant, parentRunId, rerun, uploads = [] } = acceptance;
  // First of all: what is looked at below must not change before this acceptance commits.
  const quota = await lockTenantQuota(tx, tenant);
  const session = await findSession(tx, tenant, acceptance.session);
  if (session === undefined && 'id' in acceptance.session) return { outcome: 'session_not_found' };
  // Before the uploads: those of a run that was accepted and sealed are gone, and the replay must still find it.
  const replay = session && (await findReplay(tx, acceptance, session.id));
  if (replay !== undefined) return replay;
  if (parentRunId !== undefined) {
    const scope = { tenant, sessionId: session?.id, runId: parentRunId };
    if (session === undefined || !(await lockReferencedRun(tx, scope))) return { outcome: 'parent_not_found' };
  }
  if (rerun !== undefined && !(await lockReferencedRun(tx, { tenant, runId: rerun.of }))) {
    return { outcome: 'rerun_source_not_found' };
  }
  const limit = quota?.maxOpenRuns ?? null;
  if (limit !== null && (await hasNoRunLeft(tx, tenant, limit))) {
    return { outcome: 'quota_exceeded', quota: 'max_open_runs', limit };
  }
  const locked = session === undefined ? [] : await lockUploads(tx, { tenant, sessionId: session.id, refs: uploads });
  const missing = uploads.filter((ref) => !locked.includes(ref));
  return missing.length > 0 ? { outcome: 'missing_refs', refs: missing } : undefined;
}

async function findReplay(tx: Tx, acceptance: RunAcceptance, sessionId: string): Promise<AcceptOutcome | undefined> {
  const { idempotency, tenant } = acceptance;
  if (idempotency === undefined) return undefined;
  const { rows } = await tx.query<RunRecord & { idempotencyDigest: string }>(
    `select ${RUN_COLUMNS}, idempotency_digest as "idempotencyDigest" from muster.runs
      where tenant = $1 and session_id = $2 and idempotency_key = $3`,
    [tenant, sessionId, idempotency.key],
  );
  if (rows[0] === undefined) return undefined;
  const { idempotencyDigest, ...run } = rows[0];
  return idempotencyDigest === idempotency.digest
    ? { outcome: 'replayed', run }
    : { outcome: 'conflict', runId: run.id };
}

async function chosenSession(tx: Tx, acceptance: RunAcceptance, at: Date): Promise<string> {
  const { session, tenant } = acceptance;
  return 'id' in session ? session.id : (await ensureSession(tx, { tenant, ...session, now: at })).id;
}
