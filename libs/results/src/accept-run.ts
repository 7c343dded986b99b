/**
 * Accepting a run: one transaction, and the acknowledgement is its commit (DESIGN "The way of a run").
 *
 * Invariants:
 * - the run, its input, definition, session and uploads are there together or not at all;
 * - one idempotency key in a session makes one run, however many requests carry it at once;
 * - a refusal writes nothing: everything that can refuse is looked at before the first write.
 */

import { randomUUID } from 'node:crypto';
import type { Queryable, Tx } from './database.ts';
import type { DefinitionRecord } from './definitions.ts';
import { keepDefinition } from './definitions.ts';
import type { CanonicalInput } from './inputs.ts';
import { keepInput } from './inputs.ts';
import type { RunForm, RunPriority, RunRecord } from './run-record.ts';
import { RUN_COLUMNS } from './run-record.ts';
import { runInScope, wakeDispatcher } from './runs.ts';
import type { SessionChoice } from './sessions.ts';
import { ensureSession, findSession } from './sessions.ts';
import { claimUploads, lockUploads } from './uploads.ts';

/** What makes a run. Everything is validated by the caller. */
export interface RunAcceptance {
  /** Default: a random UUID. */
  readonly id?: string;
  readonly tenant: string;
  /** A session by owner and name is made when it is not there; by id it must be. */
  readonly session: SessionChoice;
  readonly definition: DefinitionRecord;
  readonly input: CanonicalInput;
  readonly form: RunForm;
  /** Default 1, normal. */
  readonly priority?: RunPriority;
  /** The instant that the run's rules judge by. */
  readonly now: Date;
  readonly parentRunId?: string;
  /** The request's key and the digest of its body. */
  readonly idempotency?: { readonly key: string; readonly digest: string };
  /** Refs of uploads that the input names. */
  readonly uploads?: readonly string[];
  /** The instant of acceptance. Default: the clock's. */
  readonly acceptedAt?: Date;
}

export type AcceptOutcome =
  | { readonly outcome: 'accepted'; readonly run: RunRecord }
  /** The same request was accepted before: this is its run. */
  | { readonly outcome: 'replayed'; readonly run: RunRecord }
  /** Another request used this key: that is its run. */
  | { readonly outcome: 'conflict'; readonly runId: string }
  /** Uploads that are not there, not finished, already deleted, or of another session. */
  | { readonly outcome: 'missing_refs'; readonly refs: readonly string[] }
  | { readonly outcome: 'parent_not_found' }
  | { readonly outcome: 'session_not_found' };

/** Accepts a run, or says why not. */
export function acceptRun(db: Queryable, acceptance: RunAcceptance): Promise<AcceptOutcome> {
  return db.transaction(async (tx) => {
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
    return { outcome: 'accepted', run };
  });
}

async function lookBeforeWriting(tx: Tx, acceptance: RunAcceptance): Promise<AcceptOutcome | undefined> {
  const { tenant, parentRunId, uploads = [] } = acceptance;
  const session = await findSession(tx, tenant, acceptance.session);
  if (session === undefined && 'id' in acceptance.session) return { outcome: 'session_not_found' };
  // Before the uploads: those of a run that was accepted and sealed are gone, and the replay must still find it.
  const replay = session && (await findReplay(tx, acceptance, session.id));
  if (replay !== undefined) return replay;
  if (parentRunId !== undefined) {
    const parent = session && (await runInScope(tx, { tenant, sessionId: session.id, runId: parentRunId }));
    if (parent === undefined) return { outcome: 'parent_not_found' };
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

async function insertRun(
  tx: Tx,
  acceptance: RunAcceptance,
  sessionId: string,
  at: Date,
): Promise<RunRecord | undefined> {
  const { definition, form } = acceptance;
  const { rows } = await tx.query<RunRecord>(
    `insert into muster.runs (id, tenant, session_id, runbook_name, runbook_version, definition_digest, input_digest,
      form, priority, now, status, phase, revision, parent_run_id, idempotency_key, idempotency_digest, created_at,
      updated_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'pending', $11, 1, $12, $13, $14, $15, $15)
    on conflict (tenant, session_id, idempotency_key) where idempotency_key is not null do nothing
    returning ${RUN_COLUMNS}`,
    [
      acceptance.id ?? randomUUID(),
      acceptance.tenant,
      sessionId,
      definition.name,
      definition.version,
      definition.digest,
      acceptance.input.digest,
      form,
      acceptance.priority ?? 1,
      acceptance.now,
      form === 'fleet' ? 'plan' : 'procedure',
      acceptance.parentRunId ?? null,
      acceptance.idempotency?.key ?? null,
      acceptance.idempotency?.digest ?? null,
      at,
    ],
  );
  return rows[0];
}
