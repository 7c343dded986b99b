/**
 * Collect: won once; reads what the chunks left, composes the one answer, mints its walk, posts it once.
 */
import {
  type Answer,
  answerDeclaration,
  collectDeclared,
  collectFleet,
  errorIdentity,
  type FleetResults,
  type FleetRunbook,
  type FleetTotals,
  maxRowsOf,
  mergeTotals,
  NO_TOTALS,
  type RowSource,
  RunFailure,
  rulesText,
  type SubjectCounts,
  type WalkRow,
} from '@muster/envelope';
import { COMPLETED, type JobMessage, type JobOutcome } from '@muster/queue';
import {
  chunkSummaries,
  claimRun,
  countOutcomes,
  endsCancelled,
  finishRun,
  headRows,
  notCheckedGroups,
  type RunClaim,
  type RunRecord,
  type SubjectRecord,
} from '@muster/results';
import { AttemptArtifacts } from '../attempt-artifacts.ts';
import { failureBody } from '../failure-answer.ts';
import { mergeWalks } from '../merge-walks.ts';
import { rerunNote } from '../rerun.ts';
import { readInput } from '../run-input.ts';
import { runTools } from '../run-tools.ts';
import { STOP_REASONS } from '../stop-reasons.ts';
import { type RunWatch, type StepSignals, stepSignals } from '../stop-watch.ts';
import type { StoredChunk, StoredPlan } from '../stored-summaries.ts';
import { rulesDigest, sweepFinish } from '../sweep-finish.ts';
import { readSegment } from '../walk-segment.ts';
import type { WorkerContext } from '../worker-context.ts';
import { attemptStep, diedTooOften, handBack, type RunAttempt } from './run-attempt.ts';

export const MANIFEST_ARTIFACT_KIND = 'recording/walk-manifest';

/** A segment as the manifest lists it. With a wave, subjects of other waves stand between its own. */
interface WalkSegment {
  readonly ref: string;
  readonly first_ordinal: number;
  readonly subjects: number;
  readonly wave?: number;
}

export async function collectRun(
  context: WorkerContext,
  runbook: FleetRunbook,
  message: JobMessage,
  stopping: AbortSignal,
): Promise<JobOutcome> {
  const { db } = context;
  const claim = await claimRun(db, { runId: message.runId, phase: 'collect', dispatchNo: message.dispatchNo });
  if (claim === undefined) return { kind: 'discarded', reason: 'nothing to collect' };
  const attempt = { runId: claim.run.id, fence: claim.fence };
  return await attemptStep(context, attempt, () => collectClaimed(context, runbook, claim, attempt, stopping));
}

async function collectClaimed(
  context: WorkerContext,
  runbook: FleetRunbook,
  claim: RunClaim,
  attempt: RunAttempt,
  stopping: AbortSignal,
): Promise<JobOutcome> {
  const { db } = context;
  const { run, fence } = claim;
  const artifacts = new AttemptArtifacts(context, { run, fence });
  const read = diedTooOften(run) ?? (await readResults(context, run, maxRowsOf(runbook), artifacts));
  const answer =
    read instanceof RunFailure
      ? ({ kind: 'failure', error: read } as const)
      : await composeAnswer(context, runbook, run, read, artifacts, stopping);
  if (stopping.aborted) return await handBack(context, attempt);
  const failure = answer.kind === 'failure' ? failureBody(answer.error, 'collect') : undefined;
  const status = failure !== undefined ? 'failed' : endsCancelled(run.stopReason) ? 'cancelled' : 'completed';
  const { name, version } = runbook.rules;
  const done = await finishRun(db, {
    ...attempt,
    status,
    answer: answer.kind === 'failure' ? { kind: 'failure', body: failure } : answer,
    statusSummary: failure?.message ?? summaryLine(read as FleetResults, run),
    artifacts: artifacts.commits,
    sweep: sweepFinish(run, answer, { name, version, digest: rulesDigest(rulesText(runbook)) }),
  });
  return done === 'finished' ? COMPLETED : { kind: 'discarded', reason: 'another attempt finished this run' };
}

/**
 * Runs the collect chart and composes the answer. Once its run is cancelled the chart has the time of a stage that was told
 * to stop; an answer that it did not get ready for comes without its words.
 */
async function composeAnswer(
  context: WorkerContext,
  runbook: FleetRunbook,
  run: RunRecord,
  read: FleetResults,
  artifacts: AttemptArtifacts,
  stopping: AbortSignal,
): Promise<Answer> {
  const watch = context.stops.watch(run.id, run.stopReason);
  try {
    const signals = collectSignals(watch, run.stopReason, stopping);
    const { tools } = runTools(context, run, signals);
    const call = { toolCallId: run.id, runId: run.id, tools, artifacts, ...signals };
    const args = { input: await readInput(context, run, runbook), now: run.now.toISOString() };
    const answer = await collectFleet(runbook, args, call, read);
    if (answer.kind !== 'failure' || stopping.aborted || !signals.stopSignal.aborted) return answer;
    return await collectDeclared(answerDeclaration(runbook), call, read, 'the run was cancelled before it was through');
  } finally {
    watch.release();
  }
}

/** A run that was stopped before is summed up all the same; where it was cancelled, not for long. */
function collectSignals(watch: RunWatch, known: RunRecord['stopReason'], stopping: AbortSignal): StepSignals {
  if (known === null) return stepSignals(watch, stopping);
  if (!endsCancelled(known)) return { stopSignal: stopping, signal: stopping };
  const signal = AbortSignal.any([watch.overSignal, stopping]);
  return { stopSignal: signal, signal };
}

/** Reads what the chunks left, and mints the list of their walks. */
export async function readResults(
  context: WorkerContext,
  run: RunRecord,
  maxRows: number,
  artifacts: AttemptArtifacts,
): Promise<FleetResults | RunFailure> {
  const { db } = context;
  const scope = { tenant: run.tenant, runId: run.id };
  const stored = run.planSummary as StoredPlan | null;
  let totals: FleetTotals = NO_TOTALS;
  const segments: WalkSegment[] = [];
  for await (const chunk of chunkSummaries(db, scope)) {
    totals = mergeTotals(totals, (chunk.summary as StoredChunk).totals);
    if (chunk.walkRef !== null) {
      const { walkRef: ref, firstOrdinal: first_ordinal, size: subjects, wave } = chunk;
      segments.push({ ref, first_ordinal, subjects, ...(wave > 0 && { wave }) });
    }
  }
  const planned = run.subjectsTotal ?? 0;
  const outcomes = run.dryRun ? noneAssessed(planned) : await countOutcomes(db, scope);
  if (outcomes.total !== planned) {
    return new RunFailure('ledger_mismatch', `${planned} subjects were planned, and ${outcomes.total} have a row`);
  }
  const { notChecked: not_checked, cannotCover: cannot_cover, ...standings } = outcomes;
  const counts: SubjectCounts = { ...standings, not_checked, cannot_cover };
  const open = await notCheckedGroups(db, scope);
  const rerun = await rerunNote(context, run);
  const manifestRef = await mintManifest(context, artifacts, run, stored, segments);
  return {
    ...(stored !== null && { plan: stored.plan }),
    counts,
    totals,
    head: (await headRows(db, { ...scope, limit: maxRows })).map(rowSource),
    open: {
      ...open,
      groups: open.groups.map(({ outcome, reason, reasonCode, count, sampleKeys }) => ({
        outcome,
        reason: reason ?? reasonCode,
        count,
        samples: sampleKeys,
      })),
    },
    walk: () => readWalk(context, run, stored, segments),
    ...(run.stopReason !== null &&
      stored === null && {
        stopped: { what: 'the subjects of this run, which were not counted', why: STOP_REASONS[run.stopReason] },
      }),
    ...(manifestRef !== undefined && { manifestRef }),
    ...(run.dryRun && {
      dryRun: { subjects: planned, ...(stored?.targets !== undefined && { targets: stored.targets }) },
    }),
    ...(rerun !== undefined && { rerun }),
  };
}

/** A dry run's subjects have no rows, and none of them was checked. */
function noneAssessed(total: number) {
  return { total, ok: 0, problem: 0, declined: 0, notChecked: total, cannotCover: 0 };
}

async function* readWalk(
  context: WorkerContext,
  run: RunRecord,
  stored: StoredPlan | null,
  segments: readonly WalkSegment[],
): AsyncGenerator<readonly WalkRow[]> {
  async function* read(refs: readonly string[]) {
    for (const ref of refs) yield* readSegment(context.store, run, ref);
  }
  try {
    if (stored?.walkRef !== undefined) yield* read([stored.walkRef]);
    const waves = [...Map.groupBy(segments, ({ wave = 0 }) => wave).values()].map((wave) => read(wave.map(refOf)));
    yield* waves.length > 1 ? mergeWalks(waves) : (waves[0] ?? []);
  } catch (error) {
    // The walk is cut short here and says so by its counters: it never costs the answer.
    context.log.warn({ run: run.id, error: errorIdentity(error) }, 'the walk cannot be read to its end');
  }
}

function refOf({ ref }: WalkSegment): string {
  return ref;
}

async function mintManifest(
  context: WorkerContext,
  artifacts: AttemptArtifacts,
  run: RunRecord,
  stored: StoredPlan | null,
  segments: readonly object[],
): Promise<string | undefined> {
  if (segments.length === 0) return undefined;
  const manifest = { run_id: run.id, ...(stored?.walkRef !== undefined && { plan: stored.walkRef }), segments };
  try {
    const { ref } = await artifacts.put({
      kind: MANIFEST_ARTIFACT_KIND,
      mediaType: 'application/json',
      data: JSON.stringify(manifest),
      label: `${run.runbookName} walk manifest`,
      origin: { runId: run.id, toolCallId: run.id },
    });
    return ref;
  } catch (error) {
    // A failed mint costs the ticket, never the answer.
    context.log.warn({ run: run.id, err: (error as Error).name }, 'no walk manifest');
    return undefined;
  }
}

function rowSource(subject: SubjectRecord): RowSource {
  return {
    key: subject.key,
    verdict: subject.verdict ?? undefined,
    standing: subject.standing ?? undefined,
    reason: subject.reason ?? '',
    columns: (subject.columns ?? {}) as Record<string, unknown>,
  };
}

/** What a run came to, in one line. */
export function summaryLine({ counts }: FleetResults, run: RunRecord): string {
  const stopped = run.stopReason === null ? '' : `stopped (${run.stopReason}); `;
  if (run.dryRun) return `${stopped}dry run: ${counts.total} subjects counted, none assessed`;
  return `${stopped}${counts.total} subjects: ${counts.problem} problem, ${counts.declined} declined, ${counts.ok} ok, ${counts.not_checked} not checked, ${counts.cannot_cover} cannot be covered`;
}
