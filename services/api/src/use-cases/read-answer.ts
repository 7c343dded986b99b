import { type AnswerRecord, getAnswer } from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import { Problem } from '../problems.ts';
import { findRun, type RunReader, scopeOfRun } from './find-run.ts';
import { shownFailure } from './read-outcome.ts';

/** The run's one answer. @throws Problem `run_not_found`, `run_not_final` */
export async function readAnswer(deps: ApiDeps, reader: RunReader, runId: string): Promise<AnswerRecord> {
  const answer = await getAnswer(deps.db, scopeOfRun(reader, runId));
  if (answer !== undefined) return answer;
  const run = await findRun(deps, reader, runId);
  throw new Problem('run_not_final', `the run is ${run.status} and has no answer yet`, { run_status: run.status });
}

/**
 * The envelope, or the absence that is the run's answer, verbatim.
 *
 * @throws Problem `run_not_found`, `run_not_final`, `run_failed` with the failure's own code
 */
export async function readEnvelope(deps: ApiDeps, reader: RunReader, runId: string): Promise<unknown> {
  const answer = await readAnswer(deps, reader, runId);
  if (answer.kind !== 'failure') return answer.body;
  const failure = shownFailure(answer);
  throw new Problem('run_failed', `the run failed (${failure.code}) and has no envelope`, { failure });
}
