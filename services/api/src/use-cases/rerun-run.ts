/**
 * Doing a part of a run again: the same input, the subjects that are chosen, the runbook as it is offered now. The new run
 * stands in the session of the one before, where its uploads are.
 */
import { canonicalJson, cleanLine } from '@muster/envelope';
import { sha256 } from '@muster/host';
import {
  getRunInput,
  isFinal,
  type RerunSelection,
  type RUN_PRIORITIES,
  type RunRecord,
  SUBJECT_ENDS,
  type SubjectEnd,
  selectSubjects,
  subjectKeysOf,
} from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import { Problem } from '../problems.ts';
import { acceptRequest, readOutcome, type StartedRun } from './accept-request.ts';
import { findRun, type RunReader } from './find-run.ts';
import { resolveDefinition } from './resolve-definition.ts';
import { notAFleet } from './start-run.ts';

/** What is asked for: exactly one of `only` and `subjects`. */
export interface RerunRequest {
  readonly only?: readonly SubjectEnd[] | undefined;
  readonly subjects?: readonly string[] | undefined;
  /** RFC 3339; default the instant of acceptance. */
  readonly now?: string | undefined;
  readonly priority?: keyof typeof RUN_PRIORITIES | undefined;
  readonly dry_run?: boolean | undefined;
}

export interface StartedRerun extends StartedRun {
  readonly source: RunRecord;
}

const NAMED_REFS = 20;
const NAMED_SUBJECTS = 20;
const SHOWN_LENGTH = 160;

/**
 * Accepts a run that does a part of another one again.
 *
 * @throws Problem `run_not_found`, `run_not_final`, `not_a_fleet`, `unknown_runbook`, `unknown_subject`,
 * `nothing_to_rerun`, `input_gone`, and what a start throws
 */
export async function rerunRun(
  deps: ApiDeps,
  reader: RunReader,
  runId: string,
  request: RerunRequest,
  idempotencyKey?: string,
): Promise<StartedRerun> {
  const source = await findRun(deps, reader, runId);
  if (!isFinal(source.status)) {
    throw new Problem('run_not_final', `the run is ${source.status}, and what is not over cannot be done again`, {
      run_status: source.status,
    });
  }
  const definition = resolveDefinition(deps, source.runbookName);
  if (source.form !== 'fleet' || definition.runbook.form !== 'fleet') throw notAFleet(source.runbookName);
  const selection = readSelection(request);
  await checkSelection(deps, source, selection);
  const input = await getRunInput(deps.db, { tenant: source.tenant, runId: source.id });
  const outcome = await acceptRequest(deps, reader.caller, {
    definition,
    input: input?.body as Readonly<Record<string, unknown>>,
    now: request.now,
    priority: request.priority,
    dryRun: request.dry_run,
    rerun: { of: source.id, selection },
    session: { id: source.sessionId },
    ...(idempotencyKey !== undefined && {
      idempotency: { key: idempotencyKey, digest: sha256(canonicalJson({ rerun_of: source.id, ...request })) },
    }),
  });
  if (outcome.outcome === 'missing_refs') {
    const detail = 'the uploaded input of the run was deleted when it ended, so it cannot be read again';
    throw new Problem('input_gone', detail, { refs: outcome.refs.slice(0, NAMED_REFS) });
  }
  return { ...readOutcome(outcome), source };
}

function readSelection({ only = [], subjects }: RerunRequest): RerunSelection {
  if (subjects !== undefined) return { subjects: [...new Set(subjects)] };
  return { only: SUBJECT_ENDS.filter((word) => only.includes(word)) };
}

async function checkSelection(deps: ApiDeps, source: RunRecord, selection: RerunSelection): Promise<void> {
  const unseen = new Set('subjects' in selection ? selection.subjects : []);
  let found = false;
  const scope = { tenant: source.tenant, runId: source.id };
  for await (const key of subjectKeysOf(deps.db, { ...scope, ...selectSubjects(selection) })) {
    found = true;
    unseen.delete(key);
    if ('only' in selection) break;
  }
  const missing = [...unseen].map((key) => cleanLine(key, SHOWN_LENGTH));
  if (missing.length > 0) {
    const rest = missing.length > 1 ? ` and ${missing.length - 1} more` : '';
    const detail = `the run has no subject '${missing[0]}'${rest}`;
    throw new Problem('unknown_subject', detail, { subjects: missing.slice(0, NAMED_SUBJECTS) });
  }
  if (!found) throw new Problem('nothing_to_rerun', 'no subject of the run ended in one of these ways');
}
