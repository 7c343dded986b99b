import { cleanLine, isPlainObject } from '@muster/envelope';
import { type AnswerRecord, getAnswer, isFinal, type RunRecord } from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import { type RunReader, scopeOfRun } from './find-run.ts';

const SHOWN_LENGTH = 512;

/** Why a run has no envelope. */
export interface ShownFailure {
  readonly code: string;
  readonly message?: string;
}

/** What a run came to: its envelope (or the absence that is its answer), or its failure; neither while it goes on. */
export interface RunOutcome {
  readonly envelope?: unknown;
  readonly failure?: ShownFailure;
}

/** What this run came to, read only when it is over. */
export async function readRunOutcome(deps: ApiDeps, reader: RunReader, run: RunRecord): Promise<RunOutcome> {
  if (!isFinal(run.status)) return {};
  const answer = await getAnswer(deps.db, scopeOfRun(reader, run.id));
  if (answer === undefined) return {};
  return answer.kind === 'failure' ? { failure: shownFailure(answer) } : { envelope: answer.body };
}

/** A failure as callers see it: one bounded line. */
export function shownFailure(answer: AnswerRecord): ShownFailure {
  const failure = isPlainObject(answer.body) ? answer.body : {};
  const code = typeof failure.code === 'string' ? cleanLine(failure.code, 64) : 'unknown';
  return { code, ...(typeof failure.message === 'string' && { message: cleanLine(failure.message, SHOWN_LENGTH) }) };
}
