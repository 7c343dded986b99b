/**
 * What starting a run and doing a part of one again have in common: the input is validated, canonicalised and digested,
 * and the run is accepted in one transaction. The answer is given after the commit; a failure on the way is an error and
 * leaves nothing.
 */
import { randomUUID } from 'node:crypto';
import { composeAcceptance, type Definition, DocumentFault } from '@muster/host';
import {
  type AcceptOutcome,
  acceptRun,
  RUN_PRIORITIES,
  type RunAcceptance,
  type RunRecord,
  type SessionChoice,
} from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import type { Caller } from '../caller.ts';
import { Problem } from '../problems.ts';
import { inputProblem } from './input-document.ts';
import { requireBox } from './notifiers.ts';

/** A run to be accepted. */
export interface RunToAccept {
  readonly definition: Definition;
  readonly input: Readonly<Record<string, unknown>>;
  /** RFC 3339; default the instant of acceptance. */
  readonly now?: string | undefined;
  readonly priority?: keyof typeof RUN_PRIORITIES | undefined;
  readonly parentRunId?: string | undefined;
  readonly canaryPercent?: number | undefined;
  readonly dryRun?: boolean | undefined;
  readonly rerun?: RunAcceptance['rerun'] | undefined;
  /** What the run sweeps, for whoever sweeps it again. */
  readonly scope?: string | undefined;
  /** Where the answer is posted; the secret is as it was given. */
  readonly callback?: { readonly url: string; readonly secret?: string | undefined } | undefined;
  readonly session: SessionChoice;
  /** The request's key and what its body digests to. */
  readonly idempotency?: RunAcceptance['idempotency'] | undefined;
}

/**
 * Accepts a run, or says why not.
 *
 * @throws Problem `input_out_of_bounds`, `input_invalid`
 */
export async function acceptRequest(deps: ApiDeps, caller: Caller, asked: RunToAccept): Promise<AcceptOutcome> {
  return await acceptRun(deps.db, await acceptanceOf(deps, caller, asked));
}

async function acceptanceOf(deps: ApiDeps, caller: Caller, asked: RunToAccept): Promise<RunAcceptance> {
  const { callback, canaryPercent, definition, idempotency, input, now, parentRunId, rerun, session } = asked;
  try {
    return await composeAcceptance({
      tenant: caller.tenant,
      session,
      definition,
      input,
      priority: RUN_PRIORITIES[asked.priority ?? 'normal'] as RunRecord['priority'],
      now: now === undefined ? undefined : new Date(now.toUpperCase()),
      acceptedAt: deps.now?.() ?? new Date(),
      dryRun: asked.dryRun ?? false,
      ...(asked.scope !== undefined && { scopeKey: asked.scope }),
      ...(callback !== undefined && sealedCallback(deps, callback)),
      ...(canaryPercent !== undefined && { canaryPercent }),
      ...(parentRunId !== undefined && { parentRunId }),
      ...(rerun !== undefined && { rerun }),
      ...(idempotency !== undefined && { idempotency }),
    });
  } catch (error) {
    throw error instanceof DocumentFault ? inputProblem(error) : error;
  }
}

/** The id is chosen here, because the secret is sealed under it. */
function sealedCallback(deps: ApiDeps, { url, secret }: NonNullable<RunToAccept['callback']>) {
  const id = randomUUID();
  const sealed = secret === undefined ? undefined : requireBox(deps).seal(Buffer.from(secret), id);
  return { id, callback: { url, ...(sealed !== undefined && { secret: sealed }) } };
}

/** A run that was started. */
export interface StartedRun {
  readonly run: RunRecord;
  /** The same request was accepted before, and this is its run. */
  readonly replayed: boolean;
}

/** Reads what an acceptance came to. @throws Problem for every refusal */
export function readOutcome(outcome: AcceptOutcome): StartedRun {
  switch (outcome.outcome) {
    case 'accepted':
      return { run: outcome.run, replayed: false };
    case 'replayed':
      return { run: outcome.run, replayed: true };
    case 'conflict': {
      const detail = 'the Idempotency-Key was used for another request in this session';
      throw new Problem('idempotency_conflict', detail, { run_id: outcome.runId });
    }
    case 'missing_refs': {
      const refs = outcome.refs.slice(0, 20);
      throw new Problem('unknown_artifact', `the input names ${refs[0]}, which is no upload of this session`, { refs });
    }
    case 'parent_not_found':
      throw new Problem('unknown_parent_run', 'the parent run is not in this session');
    case 'quota_exceeded':
      throw new Problem('quota_exceeded', `the tenant's quota ${outcome.quota} of ${outcome.limit} is used up`, {
        quota: outcome.quota,
        limit: outcome.limit,
      });
    case 'rerun_source_not_found':
      throw new Problem('run_not_found', 'the run to repeat is not there');
    case 'session_not_found':
      throw new Error('the session is gone');
  }
}
