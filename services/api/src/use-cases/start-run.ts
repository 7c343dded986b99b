/**
 * Starting a run, in the order of the contract: resolve the definition, validate the input, canonicalise and digest it,
 * accept it in one transaction. The answer is given after the commit; a failure on the way is an error and leaves
 * nothing.
 */
import { canonicalJson } from '@muster/envelope';
import type { Definition } from '@muster/host';
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
import { faultSentence, fieldFaults } from '../field-faults.ts';
import { Problem } from '../problems.ts';
import { describeRunbook } from '../wire/runbook.ts';
import { readInputDocument, sha256 } from './input-document.ts';
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
}

export interface StartOptions {
  readonly session: SessionChoice;
  readonly idempotencyKey?: string | undefined;
}

export interface StartedRun {
  readonly run: RunRecord;
  /** The same request was accepted before, and this is its run. */
  readonly replayed: boolean;
}

/**
 * Accepts a run.
 *
 * @throws Problem `unknown_runbook`, `unknown_runbook_version`, `input_out_of_bounds`, `input_invalid`,
 * `idempotency_conflict`, `unknown_artifact`, `unknown_parent_run`
 */
export async function startRun(
  deps: ApiDeps,
  caller: Caller,
  request: RunRequest,
  options: StartOptions,
): Promise<StartedRun> {
  const definition = resolveDefinition(deps, request.runbook, request.version);
  const document = readInputDocument(request.input);
  await checkInput(definition, request.input);
  const acceptedAt = deps.now?.() ?? new Date();
  const { idempotencyKey, session } = options;
  const outcome = await acceptRun(deps.db, {
    tenant: caller.tenant,
    session,
    definition: keptDefinition(definition),
    input: { digest: document.digest, canonical: document.canonical },
    form: definition.runbook.form,
    priority: RUN_PRIORITIES[request.priority ?? 'normal'] as RunRecord['priority'],
    now: request.now === undefined ? acceptedAt : new Date(request.now.toUpperCase()),
    uploads: document.refs,
    acceptedAt,
    ...limitsOf(definition, acceptedAt),
    ...(request.parent_run_id !== undefined && { parentRunId: request.parent_run_id }),
    ...(idempotencyKey !== undefined && { idempotency: { key: idempotencyKey, digest: digestRequest(request) } }),
  });
  return readOutcome(outcome);
}

/** Same digest, same request. The instant of acceptance is not in it: a repeated request comes later by nature. */
function digestRequest(request: RunRequest): string {
  return sha256(canonicalJson(request));
}

async function checkInput({ runbook }: Definition, input: Readonly<Record<string, unknown>>): Promise<void> {
  const parsed = await runbook.input.safeParseAsync(input);
  if (parsed.success) return;
  const errors = fieldFaults('input', parsed.error.issues);
  throw new Problem('input_invalid', faultSentence(errors), { errors });
}

function keptDefinition(definition: Definition) {
  const { name, version } = definition.runbook;
  return { digest: definition.digest, name, version, declaration: describeRunbook(definition) };
}

/** The limits that hold for the run as a whole: they are fixed at acceptance, like the run's `now`. */
function limitsOf({ runbook }: Definition, acceptedAt: Date): Pick<RunAcceptance, 'deadlineAt' | 'errorBudget'> {
  const { deadlineMs, errorBudget } = runbook.limits;
  return {
    ...(deadlineMs !== undefined && { deadlineAt: new Date(acceptedAt.getTime() + deadlineMs) }),
    ...(typeof errorBudget === 'number' && { errorBudget: { count: errorBudget } }),
    ...(typeof errorBudget === 'string' && { errorBudget: { percent: Number.parseFloat(errorBudget) } }),
  };
}

function readOutcome(outcome: AcceptOutcome): StartedRun {
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
