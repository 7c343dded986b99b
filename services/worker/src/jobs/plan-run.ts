/**
 * Plan: claim, run the plan chart and write its subjects as chunks, freeze, and ask where the runbook wants a person's word.
 *
 * Invariant: every write is conditional on the run's fence; a planner that lost it stops without a trace that counts.
 */
import {
  answerPolicyOf,
  askBeforeAssess,
  type FleetRunbook,
  planFleet,
  RunFailure,
  resumeSchemaOf,
} from '@muster/envelope';
import { COMPLETED, type JobMessage, type JobOutcome } from '@muster/queue';
import {
  claimRun,
  finishRun,
  freezeRun,
  type InterruptionInput,
  QuotaExceededError,
  type RunClaim,
  stopPlan,
} from '@muster/results';
import { AttemptArtifacts } from '../attempt-artifacts.ts';
import { failureBody } from '../failure-answer.ts';
import { PlanWriter, tooManyForTenant } from '../plan-writer.ts';
import { chosenKeys } from '../rerun.ts';
import { readInput } from '../run-input.ts';
import { runTools } from '../run-tools.ts';
import { stepSignals } from '../stop-watch.ts';
import type { StoredPlan } from '../stored-summaries.ts';
import { mintSegment, walkBytes } from '../walk-segment.ts';
import type { WorkerContext } from '../worker-context.ts';
import { answerSchema } from './procedure-legs.ts';
import { attemptStep, diedTooOften, handBack, type RunAttempt, tryLater } from './run-attempt.ts';

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
  claim: RunClaim,
  attempt: RunAttempt,
  stopping: AbortSignal,
): Promise<JobOutcome> {
  const { db } = context;
  const { run, fence } = claim;
  const gaveUp = diedTooOften(run);
  if (gaveUp !== undefined) return await failRun(context, attempt, gaveUp);
  const watch = context.stops.watch(run.id, run.stopReason);
  try {
    if (watch.reason() !== undefined) return await endPlan(context, attempt);
    const signals = stepSignals(watch, stopping);
    const artifacts = new AttemptArtifacts(context, { run, fence });
    const { tools, noting, outage } = runTools(context, run, signals);
    const hasTargets = runbook.fleet.target !== undefined;
    const writer = await PlanWriter.open(context, claim, {
      chunkSize: runbook.limits.chunkSize,
      countsTargets: hasTargets && (run.dryRun || runbook.fleet.approve !== undefined),
      noting,
    });
    const input = await readInput(context, run, runbook);
    const chosen = await chosenKeys(context, run);
    const outcome = await planFleet(
      runbook,
      { input, now: run.now.toISOString() },
      { toolCallId: run.id, runId: run.id, tools, artifacts, ...signals },
      (page) => writer.add(page),
      chosen,
    );
    if (writer.lost) return { kind: 'discarded', reason: 'another attempt plans this run' };
    if (watch.reason() !== undefined) return await endPlan(context, attempt);
    if (stopping.aborted) return await handBack(context, attempt);
    if (outage() !== undefined) return await tryLater(context, attempt, outage());
    if (writer.refusal !== undefined) return await failRun(context, attempt, writer.refusal);
    if (outcome.kind !== 'planned') {
      await finishRun(db, {
        ...attempt,
        ...(outcome.kind === 'absence'
          ? { status: 'completed', answer: { kind: 'absence', body: outcome.body }, statusSummary: 'nothing found' }
          : failed(outcome.error)),
      });
      return COMPLETED;
    }
    await writer.end();
    const { walk, ...plan } = outcome.plan;
    // It may throw, so it comes before anything is stored for a plan that is frozen.
    const asks = plan.total > 0 && !run.dryRun;
    const counts = { subjects: plan.total, targets: writer.targetCount };
    const approval = asks ? approvalOf(runbook, counts, input) : undefined;
    const segment = await mintSegment(artifacts, walkBytes(walk), { runId: run.id, what: 'plan' });
    const { targets } = writer;
    const planSummary: StoredPlan = {
      plan,
      ...(segment.ref !== undefined && { walkRef: segment.ref }),
      ...(run.dryRun && targets !== undefined && { targets }),
    };
    const frozen = await freezeRun(db, {
      ...attempt,
      total: plan.total,
      planSummary,
      artifacts: artifacts.commits,
      ...(approval !== undefined && { approval }),
    });
    return frozen ? COMPLETED : { kind: 'discarded', reason: 'another attempt plans this run' };
  } catch (error) {
    // The quota was lowered while the plan went on.
    if (error instanceof QuotaExceededError) return await failRun(context, attempt, tooManyForTenant(error.limit));
    if (error instanceof RunFailure) return await failRun(context, attempt, error);
    throw error;
  } finally {
    watch.release();
  }
}

async function failRun(context: WorkerContext, attempt: RunAttempt, failure: RunFailure): Promise<JobOutcome> {
  await finishRun(context.db, { ...attempt, ...failed(failure) });
  return COMPLETED;
}

async function endPlan(context: WorkerContext, attempt: RunAttempt): Promise<JobOutcome> {
  await stopPlan(context.db, attempt);
  return COMPLETED;
}

/** What is asked before anything is assessed. @throws RunFailure `approve_failed` */
function approvalOf(
  runbook: FleetRunbook,
  counts: { subjects: number; targets: number | undefined },
  input: Readonly<Record<string, unknown>>,
): InterruptionInput | undefined {
  const schema = resumeSchemaOf(runbook);
  const { subjects, targets } = counts;
  const question = askBeforeAssess(runbook, { subjects, ...(targets !== undefined && { targets }) }, input);
  if (question === undefined || schema === undefined) return undefined;
  return { ...question, resumeSchema: answerSchema(schema), policy: answerPolicyOf(runbook) };
}

function failed(error: unknown) {
  const body = failureBody(error, 'plan');
  return { status: 'failed', answer: { kind: 'failure', body }, statusSummary: body.message } as const;
}
