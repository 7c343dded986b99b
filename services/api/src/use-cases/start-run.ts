/** Starting a run (workflow-tools contract). */
import { canonicalJson } from '@muster/envelope';
import { sha256 } from '@muster/host';
import type { RUN_PRIORITIES, SessionChoice } from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import type { Caller } from '../caller.ts';
import { Problem } from '../problems.ts';
import { acceptRequest, readOutcome, type StartedRun } from './accept-request.ts';
import { checkReceiver } from './notifiers.ts';
import { resolveDefinition } from './resolve-definition.ts';

/** What is asked for. */
export interface RunRequest {
  readonly runbook: string;
  readonly version?: string | undefined;
  readonly input: Readonly<Record<string, unknown>>;
  /** RFC 3339; default the instant of acceptance. */
  readonly now?: string | undefined;
  readonly priority?: keyof typeof RUN_PRIORITIES | undefined;
  readonly parent_run_id?: string | undefined;
  /** Over the runbook's own. */
  readonly canary_percent?: number | undefined;
  readonly dry_run?: boolean | undefined;
  /** What it sweeps; default the digest of the input, and none over uploads. */
  readonly scope?: string | undefined;
  /** Where the answer is posted. */
  readonly callback?: { readonly url: string; readonly secret?: string | undefined } | undefined;
}

export interface StartOptions {
  readonly session: SessionChoice;
  readonly idempotencyKey?: string | undefined;
}

/**
 * Accepts a run.
 *
 * @throws Problem `unknown_runbook`, `unknown_runbook_version`, `not_a_fleet`, `input_out_of_bounds`, `input_invalid`,
 * `idempotency_conflict`, `unknown_artifact`, `unknown_parent_run`, `quota_exceeded`
 */
export async function startRun(
  deps: ApiDeps,
  caller: Caller,
  request: RunRequest,
  options: StartOptions,
): Promise<StartedRun> {
  const definition = resolveDefinition(deps, request.runbook, request.version);
  const { canary_percent, dry_run, scope } = request;
  if (definition.runbook.form !== 'fleet' && (dry_run || canary_percent !== undefined || scope !== undefined)) {
    throw notAFleet(definition.runbook.name);
  }
  if (request.callback !== undefined) checkReceiver(deps, 'body/callback/url', request.callback.url);
  const { idempotencyKey, session } = options;
  const outcome = await acceptRequest(deps, caller, {
    definition,
    input: request.input,
    now: request.now,
    priority: request.priority,
    parentRunId: request.parent_run_id,
    canaryPercent: canary_percent,
    dryRun: dry_run,
    scope,
    callback: request.callback,
    session,
    // The instant of acceptance is not in the digest: a repeated request comes later by nature.
    ...(idempotencyKey !== undefined && {
      idempotency: { key: idempotencyKey, digest: sha256(canonicalJson(request)) },
    }),
  });
  return readOutcome(outcome);
}

/** The refusal of what only a fleet can do. */
export function notAFleet(runbook: string): Problem {
  return new Problem('not_a_fleet', `the runbook '${runbook}' is one chart and has no subjects to choose from`);
}
