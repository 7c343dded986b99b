/**
 * The bounded form: one chart, one job, one answer, through the same envelope code. A chart that asks ends its job without
 * an answer; after the answer of a person, another job goes on from there.
 */
import {
  answerStopped,
  type DecisionEvidenceRecord,
  type ProcedureRunbook,
  standingOf,
  type VerdictRow,
} from '@muster/envelope';
import { COMPLETED, type JobMessage, type JobOutcome } from '@muster/queue';
import { claimRun, endsCancelled, finishRun, type RowSettlement, type RunClaim } from '@muster/results';
import { AttemptArtifacts } from '../attempt-artifacts.ts';
import { failureBody } from '../failure-answer.ts';
import { readInput } from '../run-input.ts';
import { runTools } from '../run-tools.ts';
import { STOP_REASONS } from '../stop-reasons.ts';
import { stepSignals } from '../stop-watch.ts';
import type { WorkerContext } from '../worker-context.ts';
import { askAndWait, runOrResume } from './procedure-legs.ts';
import { attemptStep, diedTooOften, handBack, type RunAttempt, tryLater } from './run-attempt.ts';

export async function runProcedureJob(
  context: WorkerContext,
  runbook: ProcedureRunbook,
  message: JobMessage,
  stopping: AbortSignal,
): Promise<JobOutcome> {
  const { db } = context;
  const claim = await claimRun(db, { runId: message.runId, phase: 'procedure', dispatchNo: message.dispatchNo });
  if (claim === undefined) return { kind: 'discarded', reason: 'nothing to run' };
  const attempt = { runId: claim.run.id, fence: claim.fence };
  return await attemptStep(context, attempt, () => runClaimed(context, runbook, claim, attempt, stopping));
}

async function runClaimed(
  context: WorkerContext,
  runbook: ProcedureRunbook,
  { run, fence }: RunClaim,
  attempt: RunAttempt,
  stopping: AbortSignal,
): Promise<JobOutcome> {
  const { db } = context;
  const artifacts = new AttemptArtifacts(context, { run, fence });
  const watch = context.stops.watch(run.id, run.stopReason);
  try {
    const signals = stepSignals(watch, stopping);
    const { tools, outage } = runTools(context, run, signals);
    const call = {
      toolCallId: run.id,
      runId: run.id,
      tools,
      artifacts,
      ...signals,
      timeoutMs: runbook.limits.chartTimeoutMs,
    };
    const input = await readInput(context, run, runbook);
    const gaveUp = diedTooOften(run);
    const outcome =
      gaveUp !== undefined
        ? { kind: 'answered' as const, answer: { kind: 'failure' as const, error: gaveUp }, rows: [], evidence: [] }
        : watch.reason() === undefined
          ? await runOrResume(context, runbook, { run, fence }, { now: run.now.toISOString(), ...input }, call)
          : undefined;
    const reason = watch.reason();
    const answered = outcome?.kind === 'answered' ? outcome : undefined;
    if (reason !== undefined && answered?.answer.kind !== 'envelope') {
      const body = await answerStopped(runbook, call, STOP_REASONS[reason]);
      const status = endsCancelled(reason) ? 'cancelled' : 'completed';
      await finishRun(db, {
        ...attempt,
        status,
        answer: { kind: 'envelope', body },
        statusSummary: `stopped (${reason})`,
        artifacts: artifacts.commits,
      });
      return COMPLETED;
    }
    if (outcome === undefined || stopping.aborted) return await handBack(context, attempt);
    if (outage() !== undefined) return await tryLater(context, attempt, outage());
    if (outcome.kind === 'interrupted') {
      const asked = await askAndWait(context, runbook, { run, fence }, outcome, artifacts.commits);
      // Somebody stopped it between the chart's pause and here: whoever claims it next ends it.
      return asked === 'stopped' ? await handBack(context, attempt) : COMPLETED;
    }
    const { answer, rows, evidence } = outcome;
    const failure = answer.kind === 'failure' ? failureBody(answer.error, 'procedure') : undefined;
    await finishRun(db, {
      ...attempt,
      status:
        failure !== undefined ? 'failed' : reason !== undefined && endsCancelled(reason) ? 'cancelled' : 'completed',
      answer: answer.kind === 'failure' ? { kind: 'failure', body: failure } : answer,
      statusSummary: failure?.message ?? (answer.kind === 'absence' ? 'nothing found' : `${rows.length} row(s)`),
      artifacts: artifacts.commits,
      rows: rows.map((row, ordinal) => rowSettlement(runbook, row, ordinal, evidence[ordinal])),
    });
    return COMPLETED;
  } finally {
    watch.release();
  }
}

/** A row of a bounded run as a subject of the results store. The chart names its rows; where it did not, its place does. */
function rowSettlement(
  runbook: ProcedureRunbook,
  row: VerdictRow,
  ordinal: number,
  evidence: DecisionEvidenceRecord | undefined,
): RowSettlement {
  const { verdict, subject, reason, standing: _given, ...columns } = row;
  const standing = standingOf(runbook.verdicts, verdict);
  const key = typeof subject === 'string' && subject.trim() !== '' ? subject : `row ${ordinal + 1}`;
  const spoken = typeof reason === 'string' ? reason : verdict;
  const settled = { key, verdict, columns, ...(evidence !== undefined && { evidence }) };
  if (standing === undefined || standing === 'declined') {
    const undeclared = `the verdict word '${verdict}' has no declared standing`;
    return {
      ...settled,
      outcome: 'declined',
      standing: 'declined',
      reason: standing === undefined ? undeclared : spoken,
    };
  }
  return { ...settled, outcome: 'verdict', standing, reason: spoken };
}
