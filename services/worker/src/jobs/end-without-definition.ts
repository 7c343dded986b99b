/**
 * Ends a stopped run on a worker that has not got its definition (DESIGN 7): no chart is needed for subjects that are not
 * assessed any more, and the answer is composed of what the definition declared when the run was accepted.
 */
import { answerStopped, collectDeclared, NO_TOTALS, RunFailure, readAnswerDeclaration } from '@muster/envelope';
import { COMPLETED, type JobMessage, type JobOutcome } from '@muster/queue';
import {
  claimChunk,
  claimRun,
  endsCancelled,
  finishRun,
  getDefinition,
  type RunClaim,
  type RunFinish,
  type RunJobPhase,
  type StopReason,
  settleChunk,
  startCollect,
  stopPlan,
} from '@muster/results';
import { AttemptArtifacts } from '../attempt-artifacts.ts';
import { failureBody } from '../failure-answer.ts';
import { STOP_REASONS } from '../stop-reasons.ts';
import type { StoredChunk } from '../stored-summaries.ts';
import { sweepFinish } from '../sweep-finish.ts';
import type { WorkerContext } from '../worker-context.ts';
import { readResults, summaryLine } from './collect-run.ts';
import { attemptStep } from './run-attempt.ts';

/** What a fleet's answer shows where it is not known how much its runbook wanted to. */
const NOBODY_KNOWS = new RunFailure(
  'definition_withdrawn',
  'no worker has the definition of this run any more, and what it declared was not kept; its rows can be read',
);

export async function endWithoutDefinition(
  context: WorkerContext,
  message: JobMessage,
  stopReason: StopReason,
): Promise<JobOutcome> {
  if (message.kind === 'assess') return await settleUnassessed(context, message, stopReason);
  const claim = await claimRun(context.db, {
    runId: message.runId,
    phase: message.kind as RunJobPhase,
    dispatchNo: message.dispatchNo,
  });
  if (claim === undefined) return { kind: 'discarded', reason: `nothing to ${message.kind}` };
  const attempt = { runId: claim.run.id, fence: claim.fence };
  return await attemptStep(context, attempt, async () => {
    if (message.kind === 'plan') await stopPlan(context.db, attempt);
    else await finishRun(context.db, { ...attempt, ...(await composeEnd(context, claim, stopReason)) });
    return COMPLETED;
  });
}

async function settleUnassessed(
  { db }: WorkerContext,
  message: JobMessage,
  stopReason: StopReason,
): Promise<JobOutcome> {
  const claim = await claimChunk(db, { chunkId: message.id, dispatchNo: message.dispatchNo });
  if (claim === undefined) return { kind: 'discarded', reason: 'nothing to assess' };
  const open = { outcome: 'not_checked', reasonCode: stopReason, reason: STOP_REASONS[stopReason] } as const;
  const summary: StoredChunk = { totals: NO_TOTALS };
  await settleChunk(db, {
    chunkId: claim.chunk.id,
    fence: claim.fence,
    subjects: Array.from({ length: claim.chunk.size }, () => ({ ...open, columns: {} })),
    summary,
  });
  await startCollect(db, claim.run.id);
  return COMPLETED;
}

type RunEnd = Pick<RunFinish, 'status' | 'answer' | 'statusSummary' | 'artifacts' | 'sweep'>;

interface KeptDeclaration {
  readonly answer?: unknown;
  /** Older builds kept none. */
  readonly rules_digest?: string;
}

async function composeEnd(context: WorkerContext, { run, fence }: RunClaim, stopReason: StopReason): Promise<RunEnd> {
  const kept = (await getDefinition(context.db, run.definitionDigest))?.declaration as KeptDeclaration | undefined;
  const declared = readAnswerDeclaration(kept?.answer);
  if (declared === undefined) return failed(NOBODY_KNOWS, run.phase);
  const status = endsCancelled(stopReason) ? 'cancelled' : 'completed';
  const artifacts = new AttemptArtifacts(context, { run, fence });
  const call = { toolCallId: run.id, runId: run.id, artifacts };
  if (run.form === 'procedure') {
    const body = await answerStopped(declared, call, STOP_REASONS[stopReason]);
    const statusSummary = `stopped (${stopReason})`;
    return { status, answer: { kind: 'envelope', body }, statusSummary, artifacts: artifacts.commits };
  }
  const read = await readResults(context, run, declared.maxRows, artifacts);
  if (read instanceof RunFailure) return failed(read, run.phase);
  const answer = await collectDeclared(declared, call, read, STOP_REASONS.withdrawn);
  if (answer.kind === 'failure') return failed(answer.error, run.phase);
  const sweep = sweepFinish(run, answer, { ...declared.rules, digest: kept?.rules_digest ?? null });
  return { status, answer, statusSummary: summaryLine(read, run), artifacts: artifacts.commits, sweep };
}

function failed(error: unknown, phase: string): RunEnd {
  const body = failureBody(error, phase);
  return { status: 'failed', answer: { kind: 'failure', body }, statusSummary: body.message };
}
