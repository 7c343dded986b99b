/**
 * Answering what an interrupted run asks, for every door.
 *
 * Invariants:
 * - an answer is checked against the schema of the very question that it is stored for, and stored once;
 * - who may answer is looked at before what is answered;
 * - everything is looked at again by the statement that stores the answer: what is checked here is for a clear refusal.
 */
import { resumeSchemaOf } from '@muster/envelope';
import { faultSentence, fieldFaults, type InputDocument } from '@muster/host';
import {
  answerInterruption,
  getOpenInterruption,
  type InterruptionRecord,
  isOffered,
  isStarter,
  type RunRecord,
} from '@muster/results';
import { z } from 'zod';
import type { ApiDeps } from '../api-deps.ts';
import { roleCovers } from '../caller.ts';
import { Problem } from '../problems.ts';
import { findRun, type RunReader, runNotFound, scopeOfRun } from './find-run.ts';
import { readAnswerDocument } from './input-document.ts';
import { notInterrupted } from './read-interruption.ts';

/** An answer, and the number of the question that it is meant for; without one, for the question that is open. */
export interface ResumeRequest {
  readonly resume: Readonly<Record<string, unknown>>;
  readonly number?: number | undefined;
}

const RETRY_AFTER_SECONDS = '5';

/**
 * Answers. The row that is given back is `running`, or on its way to `cancelled` when a person said no to a fleet.
 *
 * @throws Problem `run_not_found`, `not_interrupted`, `run_stopping`, `resume_expired`, `forbidden`, `self_approval`,
 * `definition_not_offered`, `resume_invalid`
 */
export async function resumeRun(
  deps: ApiDeps,
  reader: RunReader,
  runId: string,
  request: ResumeRequest,
): Promise<RunRecord> {
  const run = await findRun(deps, reader, runId);
  const question = await openQuestion(deps, reader, run, request.number);
  await checkWhoAnswers(deps, reader, run, question);
  await checkOffered(deps, question);
  const answer = await checkAnswer(deps, question, request.resume);
  const outcome = await answerInterruption(deps.db, {
    ...scopeOfRun(reader, run.id),
    number: question.number,
    answer: answer.canonical,
    digest: answer.digest,
    by: { keyId: reader.caller.keyId, role: reader.caller.role },
    allowSelf: deps.selfApproval === 'allow',
    now: clockOf(deps),
    ...refusalIn(question, request.resume),
  });
  switch (outcome.outcome) {
    case 'resumed':
    case 'refused':
      return outcome.run;
    case 'not_interrupted':
      throw notInterrupted(outcome.status);
    case 'expired':
      throw expired();
    case 'stopping':
      throw stopping();
    case 'self':
      throw selfApproval();
    case 'not_found':
      throw runNotFound();
  }
}

async function openQuestion(
  deps: ApiDeps,
  reader: RunReader,
  run: RunRecord,
  number: number | undefined,
): Promise<InterruptionRecord> {
  if (run.status !== 'interrupted') throw notInterrupted(run.status);
  if (run.stopReason !== null) throw run.stopReason === 'expired' ? expired() : stopping();
  const question = await getOpenInterruption(deps.db, scopeOfRun(reader, run.id));
  if (question === undefined) throw notInterrupted(run.status, 'the question was answered a moment ago');
  if (number !== undefined && number !== question.number) {
    throw notInterrupted(run.status, `question ${number} is not open; the run asks question ${question.number}`);
  }
  if (question.expiresAt <= clockOf(deps)) throw expired();
  return question;
}

async function checkWhoAnswers(
  deps: ApiDeps,
  { caller }: RunReader,
  run: RunRecord,
  { neededRole, selfAllowed }: InterruptionRecord,
): Promise<void> {
  if (!roleCovers(caller.role, neededRole)) {
    const detail = `this question needs a key of the role ${neededRole}; this key's role is ${caller.role}`;
    throw new Problem('forbidden', detail, { needed_role: neededRole });
  }
  if (selfAllowed || deps.selfApproval === 'allow') return;
  if (await isStarter(deps.db, run, caller.keyId)) throw selfApproval();
}

async function checkOffered(deps: ApiDeps, { definitionDigest }: InterruptionRecord): Promise<void> {
  if (await isOffered(deps.db, { digest: definitionDigest, now: clockOf(deps) })) return;
  const detail = 'no living worker has the definition that asked this, so nobody could go on with the answer';
  const headers = { 'retry-after': RETRY_AFTER_SECONDS };
  throw new Problem('definition_not_offered', detail, { definition_digest: definitionDigest }, { headers });
}

/** The answer in its canonical form. The worker reads it through the schema again, for its defaults. */
async function checkAnswer(
  deps: ApiDeps,
  question: InterruptionRecord,
  answer: Readonly<Record<string, unknown>>,
): Promise<InputDocument> {
  const document = readAnswerDocument(answer);
  const parsed = await schemaOf(deps, question).safeParseAsync(answer);
  if (parsed.success) return document;
  const errors = fieldFaults('resume', parsed.error.issues);
  throw new Problem('resume_invalid', faultSentence(errors), { errors });
}

/** The definition's own schema where its code is here; else the one that was recorded with the question. */
function schemaOf(deps: ApiDeps, { definitionDigest, resumeSchema }: InterruptionRecord): z.ZodType {
  const definition = deps.catalog.byDigest.get(definitionDigest);
  const known = definition === undefined ? undefined : resumeSchemaOf(definition.runbook);
  return known ?? z.fromJSONSchema(resumeSchema as Parameters<typeof z.fromJSONSchema>[0]);
}

/** A fleet that a person did not approve is not assessed. */
function refusalIn({ source }: InterruptionRecord, answer: Readonly<Record<string, unknown>>) {
  if (source !== 'approval' || answer.approved !== false) return {};
  return { refused: typeof answer.reason === 'string' ? { reason: answer.reason } : {} };
}

function clockOf(deps: ApiDeps): Date {
  return deps.now?.() ?? new Date();
}

function stopping(): Problem {
  return new Problem('run_stopping', 'the run is being stopped and takes no answer any more');
}

function expired(): Problem {
  return new Problem('resume_expired', 'nobody answered in time, and the run ends with what it has');
}

function selfApproval(): Problem {
  return new Problem('self_approval', 'this key started the run, and another one has to answer');
}
