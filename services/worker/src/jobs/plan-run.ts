/**
 * Plan: claim, run the plan chart and write its subjects as chunks, freeze.
 *
 * Invariant: every write is conditional on the run's fence; a planner that lost it stops without a trace that counts.
 */
import { type FleetRunbook, type PlannedSubject, planFleet } from '@muster/envelope';
import { COMPLETED, type JobMessage, type JobOutcome } from '@muster/queue';
import {
  claimRun,
  finishRun,
  freezeRun,
  type PlannedChunk,
  type RunClaim,
  stopPlan,
  writeChunks,
} from '@muster/results';
import { AttemptArtifacts } from '../attempt-artifacts.ts';
import { ChunkBuffer } from '../chunk-buffer.ts';
import { failureBody } from '../failure-answer.ts';
import { readInput } from '../run-input.ts';
import { runTools } from '../run-tools.ts';
import type { StoredPlan } from '../stored-summaries.ts';
import { mintSegment, segmentPart } from '../walk-segment.ts';
import type { WorkerContext } from '../worker-context.ts';
import { attemptStep, diedTooOften, handBack, type RunAttempt, tryLater } from './run-attempt.ts';

/** Thrown through the plan chart when the fence has moved on: somebody else plans this run now. */
class FenceLostError extends Error {
  override readonly name = 'FenceLostError';
}

export async function planRun(
  context: WorkerContext,
  runbook: FleetRunbook,
  message: JobMessage,
  stopping: AbortSignal,
): Promise<JobOutcome> {
  const { db } = context;
  const claim = await claimRun(db, { runId: message.runId, phase: 'plan', dispatchNo: message.dispatchNo });
  if (claim === undefined) return { kind: 'discarded', reason: 'nothing to plan' };
  const attempt = { runId: claim.run.id, fence: claim.fence };
  return await attemptStep(context, attempt, () => planClaimed(context, runbook, claim, attempt, stopping));
}

async function planClaimed(
  context: WorkerContext,
  runbook: FleetRunbook,
  { run, fence }: RunClaim,
  attempt: RunAttempt,
  stopping: AbortSignal,
): Promise<JobOutcome> {
  const { db } = context;
  const gaveUp = diedTooOften(run);
  if (gaveUp !== undefined) {
    await finishRun(db, { ...attempt, ...failed(gaveUp) });
    return COMPLETED;
  }
  const watch = context.stops.watch(run.id, run.stopReason);
  try {
    if (watch.reason() !== undefined) return await endPlan(context, attempt);
    const signal = AbortSignal.any([watch.signal, stopping]);
    const artifacts = new AttemptArtifacts(context, { run, fence });
    const { tools, noting, outage } = runTools(context, run, signal);
    const buffer = new ChunkBuffer(runbook.limits.chunkSize, context.newId, (chunkId, items) =>
      context.box.seal(items, chunkId),
    );
    let lost = false;
    const write = async (chunks: readonly PlannedChunk[]) => {
      if (chunks.length === 0) return;
      lost ||= !(await noting(writeChunks(db, { ...attempt, chunks })));
      if (lost) throw new FenceLostError();
    };
    const input = await readInput(context, run, runbook);
    const outcome = await planFleet(
      runbook,
      { input, now: run.now.toISOString() },
      { toolCallId: run.id, runId: run.id, tools, artifacts, signal },
      async (page: readonly PlannedSubject[]) => write(buffer.add(page)),
    );
    if (lost) return { kind: 'discarded', reason: 'another attempt plans this run' };
    if (watch.reason() !== undefined) return await endPlan(context, attempt);
    if (stopping.aborted) return await handBack(context, attempt);
    if (outage() !== undefined) return await tryLater(context, attempt, outage());
    if (outcome.kind !== 'planned') {
      await finishRun(db, {
        ...attempt,
        ...(outcome.kind === 'absence'
          ? { status: 'completed', answer: { kind: 'absence', body: outcome.body }, statusSummary: 'nothing found' }
          : failed(outcome.error)),
      });
      return COMPLETED;
    }
    await write(buffer.flush());
    const { walk, ...plan } = outcome.plan;
    const segment = await mintSegment(artifacts, [segmentPart(walk)], { runId: run.id, what: 'plan' });
    const planSummary: StoredPlan = { plan, ...(segment.ref !== undefined && { walkRef: segment.ref }) };
    const frozen = await freezeRun(db, { ...attempt, total: plan.total, planSummary, artifacts: artifacts.commits });
    return frozen ? COMPLETED : { kind: 'discarded', reason: 'another attempt plans this run' };
  } finally {
    watch.release();
  }
}

async function endPlan(context: WorkerContext, attempt: RunAttempt): Promise<JobOutcome> {
  await stopPlan(context.db, attempt);
  return COMPLETED;
}

function failed(error: unknown) {
  const body = failureBody(error, 'plan');
  return { status: 'failed', answer: { kind: 'failure', body }, statusSummary: body.message } as const;
}
