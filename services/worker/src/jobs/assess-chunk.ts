/**
 * Assess: claim a chunk, take a turn over its subjects, mint their walks, settle once.
 */
import { type FleetRunbook, NO_TOTALS } from '@muster/envelope';
import { COMPLETED, type JobMessage, type JobOutcome } from '@muster/queue';
import {
  type ChunkClaim,
  checkErrorBudget,
  chunkStarts,
  claimChunk,
  JsonText,
  releaseChunk,
  type SubjectSettlement,
  settleChunk,
  startCollect,
  type WalkRange,
} from '@muster/results';
import { AttemptArtifacts } from '../attempt-artifacts.ts';
import { decodeItems, encodeRest } from '../chunk-buffer.ts';
import type { ProgressMarker } from '../progress-marker.ts';
import { readInput } from '../run-input.ts';
import type { StoredChunk } from '../stored-summaries.ts';
import type { TurnCover } from '../threads/chart-runner.ts';
import type { TurnResult, TurnSubject } from '../threads/turn-messages.ts';
import { mintSegment } from '../walk-segment.ts';
import type { WorkerContext } from '../worker-context.ts';
import { RELEASED } from './run-attempt.ts';

/** From this start on a chunk is taken one subject a turn, alone in its process: something in it ends processes. */
const CAREFUL_FROM_START = 3;
/** From this start on its first subject is set aside: it was alone when the process ended, twice, so it was no accident. */
const SET_ASIDE_FROM_START = 5;

/** A share of an error budget counts from this many settled subjects on: the first few say little. */
const BUDGET_MINIMUM_SETTLED = 20;
/** Why subjects are not checked without having failed: they were never begun, or there was nothing to look at. */
const NO_FAILURES = new Set<string | undefined>([
  'cancelled',
  'deadline',
  'error_budget',
  'withdrawn',
  'nothing_found',
]);

/** Whether assessing a subject failed: its chart threw, timed out, or ended its thread or process. */
function isFailure(result: TurnResult): boolean {
  return result.outcome === 'not_checked' && !NO_FAILURES.has(result.reasonCode);
}

/** Whether the next turn of a chunk is to be alone in its process. */
export async function isSuspect(context: WorkerContext, chunkId: string): Promise<boolean> {
  return ((await chunkStarts(context.db, chunkId)) ?? 0) + 1 >= CAREFUL_FROM_START;
}

export async function assessChunk(
  context: WorkerContext,
  runbook: FleetRunbook,
  message: JobMessage,
  stopping: AbortSignal,
  progress: ProgressMarker,
): Promise<JobOutcome> {
  const claim = await claimChunk(context.db, { chunkId: message.id, dispatchNo: message.dispatchNo });
  if (claim === undefined) return { kind: 'discarded', reason: 'nothing to assess' };
  const planned = decodeItems(context.box.open(claim.chunk.items as Buffer, claim.chunk.id), claim.chunk);
  const cover = await coverSubjects(context, runbook, claim, planned, stopping);
  if (cover.results.length === 0) {
    await releaseChunk(context.db, { chunkId: claim.chunk.id, fence: claim.fence });
    return RELEASED;
  }
  const settled = await settle(context, claim, planned, cover);
  if (settled === 'lost') return { kind: 'discarded', reason: 'another attempt has this chunk' };
  if (await startCollect(context.db, claim.run.id)) return COMPLETED;
  if (cover.results.some(isFailure)) {
    await checkErrorBudget(context.db, { runId: claim.run.id, minimumSettled: BUDGET_MINIMUM_SETTLED });
  }
  await progress.note(claim.run);
  return COMPLETED;
}

async function coverSubjects(
  context: WorkerContext,
  runbook: FleetRunbook,
  claim: ChunkClaim,
  planned: readonly TurnSubject[],
  stopping: AbortSignal,
): Promise<TurnCover> {
  const { run, starts } = claim;
  if (starts >= SET_ASIDE_FROM_START) {
    const reason = `assessing it ended the worker process ${starts - CAREFUL_FROM_START} times, so it was set aside`;
    return {
      results: [{ outcome: 'not_checked', reasonCode: 'worker_died', reason, columns: '{}' }],
      totals: NO_TOTALS,
    };
  }
  const watch = context.stops.watch(run.id, run.stopReason);
  try {
    return await context.charts.take({
      definitionDigest: run.definitionDigest,
      runId: run.id,
      input: await readInput(context, run, runbook),
      now: run.now.toISOString(),
      subjects: starts >= CAREFUL_FROM_START ? planned.slice(0, 1) : planned,
      sliceMs: context.limits.sliceMs,
      waits: runbook.limits.concurrency > 1,
      subjectTimeoutMs: runbook.limits.subjectTimeoutMs,
      stop: watch,
      stopping,
    });
  } finally {
    watch.release();
  }
}

async function settle(
  context: WorkerContext,
  claim: ChunkClaim,
  planned: readonly TurnSubject[],
  { results, totals }: TurnCover,
): Promise<'settled' | 'lost'> {
  const { run, chunk, fence } = claim;
  const artifacts = new AttemptArtifacts(context, { run, chunkId: chunk.id, fence });
  const what = `subjects ${chunk.firstOrdinal} to ${chunk.firstOrdinal + results.length - 1}`;
  const segment = await mintSegment(
    artifacts,
    results.map((result) => result.walk),
    { runId: run.id, what },
  );
  if (segment.failure !== undefined) {
    context.log.warn({ run: run.id, chunk: chunk.id, failure: segment.failure }, 'no walk segment');
  }
  const summary: StoredChunk = { totals };
  const rest = planned.slice(results.length);
  const remainderId = context.newId();
  return await settleChunk(context.db, {
    chunkId: chunk.id,
    fence,
    subjects: results.map((result, index) => settlementOf(result, segment.ranges[index])),
    summary,
    failed: results.filter(isFailure).length,
    ...(segment.ref !== undefined && { walkRef: segment.ref }),
    artifacts: artifacts.commits,
    ...(rest.length > 0 && {
      remainder: {
        id: remainderId,
        items: context.box.seal(encodeRest(rest), remainderId),
        // The rest is taken as carefully, until the subject that ends processes has been found.
        starts: claim.starts >= CAREFUL_FROM_START && claim.starts < SET_ASIDE_FROM_START ? CAREFUL_FROM_START - 1 : 0,
      },
    }),
  });
}

function settlementOf(result: TurnResult, walk: WalkRange | undefined): SubjectSettlement {
  const { walk: _part, columns, evidence, ...spoken } = result;
  return {
    ...spoken,
    columns: new JsonText(columns),
    ...(evidence !== undefined && { evidence: new JsonText(evidence) }),
    ...(walk !== undefined && { walk }),
  } as SubjectSettlement;
}
