/** The row of an accepted run. */

import { randomUUID } from 'node:crypto';
import type { Tx } from './database.ts';
import type { DefinitionRecord } from './definitions.ts';
import type { CanonicalInput } from './inputs.ts';
import type { RunForm, RunPriority, RunRecord } from './run-record.ts';
import { RUN_COLUMNS } from './run-record.ts';
import type { SessionChoice } from './sessions.ts';

/** How many subjects may fail before the run is stopped: so many, or so many percent of those settled. */
export type ErrorBudget = { readonly count: number } | { readonly percent: number };

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
  /** The instant from which on nothing more is assessed. */
  readonly deadlineAt?: Date;
  readonly errorBudget?: ErrorBudget;
  /** The share of targets whose subjects go first, in percent. */
  readonly canaryPercent?: number;
  /**
   * What the run sweeps, so that the next sweep of the same finds it. Default: the digest of its input, and none for a
   * run over uploads: an upload has a ref of its own, so no second run could share such a scope.
   */
  readonly scopeKey?: string;
  /** Count the subjects and assess none. Fleets only. */
  readonly dryRun?: boolean;
  /** A run of this tenant that is done again in part, and which part. */
  readonly rerun?: { readonly of: string; readonly selection: unknown };
  /** The delivery of a webhook that began it. */
  readonly deliveryId?: string;
  /** Where its answer is posted when it is over; `secret` is sealed under the run's id, which must then be given. */
  readonly callback?: { readonly url: string; readonly secret?: Buffer };
  /** The instant of acceptance. Default: the clock's. */
  readonly acceptedAt?: Date;
}

/** Inserts the run; undefined when its idempotency key is taken. */
export async function insertRun(
  tx: Tx,
  acceptance: RunAcceptance,
  sessionId: string,
  at: Date,
): Promise<RunRecord | undefined> {
  const columns = runColumns(acceptance, sessionId, at);
  const { rows } = await tx.query<RunRecord>(
    `insert into muster.runs (${Object.keys(columns).join(', ')})
      values (${Object.keys(columns).map((_, index) => `$${index + 1}`)})
      on conflict (tenant, session_id, idempotency_key) where idempotency_key is not null do nothing
      returning ${RUN_COLUMNS}`,
    Object.values(columns),
  );
  const { callback } = acceptance;
  if (rows[0] !== undefined && callback !== undefined) {
    await tx.query('insert into muster.run_callbacks (run_id, url, secret) values ($1, $2, $3)', [
      rows[0].id,
      callback.url,
      callback.secret ?? null,
    ]);
  }
  return rows[0];
}

function runColumns(acceptance: RunAcceptance, sessionId: string, at: Date): Record<string, unknown> {
  const { definition, errorBudget, form, idempotency, rerun } = acceptance;
  return {
    id: acceptance.id ?? randomUUID(),
    tenant: acceptance.tenant,
    session_id: sessionId,
    runbook_name: definition.name,
    runbook_version: definition.version,
    definition_digest: definition.digest,
    input_digest: acceptance.input.digest,
    form,
    priority: acceptance.priority ?? 1,
    now: acceptance.now,
    status: 'pending',
    phase: form === 'fleet' ? 'plan' : 'procedure',
    revision: 1,
    parent_run_id: acceptance.parentRunId ?? null,
    idempotency_key: idempotency?.key ?? null,
    idempotency_digest: idempotency?.digest ?? null,
    deadline_at: acceptance.deadlineAt ?? null,
    error_budget_count: errorBudget && 'count' in errorBudget ? errorBudget.count : null,
    error_budget_percent: errorBudget && 'percent' in errorBudget ? errorBudget.percent : null,
    canary_percent: acceptance.canaryPercent ?? null,
    scope_key: acceptance.scopeKey ?? (acceptance.uploads?.length ? null : acceptance.input.digest),
    dry_run: acceptance.dryRun ?? false,
    rerun_of: rerun?.of ?? null,
    rerun_selection: rerun === undefined ? null : JSON.stringify(rerun.selection ?? null),
    delivery_id: acceptance.deliveryId ?? null,
    created_at: at,
    updated_at: at,
  };
}
