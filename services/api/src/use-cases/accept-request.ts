/**
 * What starting a run and doing a part of one again have in common: the input is validated, canonicalised and digested,
 * and the run is accepted in one transaction. The answer is given after the commit; a failure on the way is an error and
 * leaves nothing.
 */
import { answerDeclaration } from '@muster/envelope';
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
import { readInputDocument } from './input-document.ts';

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
  const { definition, idempotency, parentRunId, rerun } = asked;
  const document = readInputDocument(asked.input);
  await checkInput(definition, asked.input);
  const acceptedAt = deps.now?.() ?? new Date();
  return await acceptRun(deps.db, {
    tenant: caller.tenant,
    session: asked.session,
    definition: keptDefinition(definition),
    input: { digest: document.digest, canonical: document.canonical },
    form: definition.runbook.form,
    priority: RUN_PRIORITIES[asked.priority ?? 'normal'] as RunRecord['priority'],
    now: asked.now === undefined ? acceptedAt : new Date(asked.now.toUpperCase()),
    uploads: document.refs,
    acceptedAt,
    ...limitsOf(definition, acceptedAt, asked.canaryPercent),
    dryRun: asked.dryRun ?? false,
    ...(parentRunId !== undefined && { parentRunId }),
    ...(rerun !== undefined && { rerun }),
    ...(idempotency !== undefined && { idempotency }),
  });
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

async function checkInput({ runbook }: Definition, input: Readonly<Record<string, unknown>>): Promise<void> {
  const parsed = await runbook.input.safeParseAsync(input);
  if (parsed.success) return;
  const errors = fieldFaults('input', parsed.error.issues);
  throw new Problem('input_invalid', faultSentence(errors), { errors });
}

function keptDefinition(definition: Definition) {
  const { name, version } = definition.runbook;
  const declaration = { ...describeRunbook(definition), answer: answerDeclaration(definition.runbook) };
  return { digest: definition.digest, name, version, declaration };
}

/** The limits that hold for the run as a whole: they are fixed at acceptance, like the run's `now`. */
function limitsOf(
  { runbook }: Definition,
  acceptedAt: Date,
  canaryAsked: number | undefined,
): Pick<RunAcceptance, 'deadlineAt' | 'errorBudget' | 'canaryPercent'> {
  const { canary, deadlineMs, errorBudget } = runbook.limits;
  const canaryPercent = canaryAsked ?? (canary === undefined ? undefined : Number.parseFloat(canary));
  return {
    ...(deadlineMs !== undefined && { deadlineAt: new Date(acceptedAt.getTime() + deadlineMs) }),
    ...(typeof errorBudget === 'number' && { errorBudget: { count: errorBudget } }),
    ...(typeof errorBudget === 'string' && { errorBudget: { percent: Number.parseFloat(errorBudget) } }),
    ...(canaryPercent !== undefined && { canaryPercent }),
  };
}
