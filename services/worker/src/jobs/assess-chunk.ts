/**
 * Assess: claim a chunk, take a turn over its subjects, mint their walks, settle once.
 */
import type { FleetRunbook } from '@muster/envelope';
import { COMPLETED, type JobMessage, type JobOutcome } from '@muster/queue';
import {
  type ChunkClaim,
  checkErrorBudget,
  chunkStarts,
  claimChunk,
  markAssessing,
  releaseChunk,
  settleChunk,
  startCollect,
} from '@muster/results';
import { AttemptArtifacts } from '../attempt-artifacts.ts';
import { encodeRest } from '../chunk-buffer.ts';
import type { ProgressMarker } from '../progress-marker.ts';
import { readInput } from '../run-input.ts';
import type { StoredChunk } from '../stored-summaries.ts';
import { setAside, type TurnCover } from '../threads/turn-cover.ts';
import { mintSegment, RECORDINGS_ARTIFACT_KIND } from '../walk-segment.ts';
import type { WorkerContext } from '../worker-context.ts';
import { RELEASED } from './run-attempt.ts';

/** From this start on a chunk is taken one subject a turn, alone in its process: something in it ends processes. */
const CAREFUL_FROM_START = 3;
/** After so many its first subject is set aside: it was being assessed alone when the process ended, so it was no accident. */
const SUBJECT_DEATHS = 2;

/** A share of an error budget counts from this many settled subjects on: the first few say little. */
const BUDGET_MINIMUM_SETTLED = 20;

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
  const items = context.box.open(claim.chunk.items as Buffer, claim.chunk.id);
  const cover = await coverSubjects(context, runbook, claim, items, stopping);
  if (cover.subjects.count === 0) {
    await releaseChunk(context.db, { chunkId: claim.chunk.id, fence: claim.fence });
    return RELEASED;
  }
  const settled = await settle(context, claim, items, cover);
  if (settled === 'lost') return { kind: 'discarded', reason: 'another attempt has this chunk' };
  if (await startCollect(context.db, claim.run.id)) return COMPLETED;
  if (cover.failed > 0) {
    await checkErrorBudget(context.db, { runId: claim.run.id, minimumSettled: BUDGET_MINIMUM_SETTLED });
  }
  await progress.note(claim.run);
  return COMPLETED;
}

async function coverSubjects(
  context: WorkerContext,
  runbook: FleetRunbook,
  claim: ChunkClaim,
  items: Uint8Array,
  stopping: AbortSignal,
): Promise<TurnCover> {
  const { run, chunk, fence } = claim;
  if (isSetAside(claim)) {
    const reason = `assessing it ended the worker process ${chunk.subjectDeaths} times, so it was set aside`;
    return setAside('worker_died', reason);
  }
  const careful = claim.starts >= CAREFUL_FROM_START;
  if (careful) await markAssessing(context.db, { chunkId: chunk.id, fence, assessing: true });
  const watch = context.stops.watch(run.id, run.stopReason);
  try {
    return await context.charts.take({
      definitionDigest: run.definitionDigest,
      runId: run.id,
      input: await readInput(context, run, runbook),
      now: run.now.toISOString(),
      subjects: { firstOrdinal: chunk.firstOrdinal, names: chunk.keys, items },
      count: careful ? 1 : chunk.size,
      sliceMs: context.limits.sliceMs,
      waits: runbook.limits.concurrency > 1,
      subjectTimeoutMs: runbook.limits.subjectTimeoutMs,
      stop: watch,
      stopping,
    });
  } finally {
    watch.release();
    if (careful) await markAssessing(context.db, { chunkId: chunk.id, fence, assessing: false });
  }
}

function isSetAside({ chunk }: ChunkClaim): boolean {
  return chunk.subjectDeaths >= SUBJECT_DEATHS;
}

async function settle(
  context: WorkerContext,
  claim: ChunkClaim,
  items: Uint8Array,
  { subjects, failed, walk, recordings, totals }: TurnCover,
): Promise<'settled' | 'lost'> {
  const { run, chunk, fence } = claim;
  const artifacts = new AttemptArtifacts(context, { run, chunkId: chunk.id, fence });
  const what = `subjects ${chunk.firstOrdinal} to ${chunk.firstOrdinal + subjects.count - 1}`;
  const segment = await mintSegment(artifacts, walk, { runId: run.id, what });
  const recorded = await mintSegment(artifacts, recordings, { runId: run.id, what, kind: RECORDINGS_ARTIFACT_KIND });
  for (const [{ failure }, lost] of [[segment, 'no walk segment'] as const, [recorded, 'no recordings'] as const]) {
    if (failure !== undefined) context.log.warn({ run: run.id, chunk: chunk.id, failure }, lost);
  }
  const summary: StoredChunk = { totals };
  const remainderId = context.newId();
  return await settleChunk(context.db, {
    chunkId: chunk.id,
    fence,
    subjects,
    summary,
    failed,
    ...(segment.ref !== undefined && { walkRef: segment.ref }),
    ...(recorded.ref !== undefined && { recordingRef: recorded.ref }),
    artifacts: artifacts.commits,
    ...(subjects.count < chunk.size && {
      remainder: {
        id: remainderId,
        items: context.box.seal(encodeRest(items, subjects.count), remainderId),
        // The rest is taken as carefully, until the subject that ends processes has been found.
        starts: claim.starts >= CAREFUL_FROM_START && !isSetAside(claim) ? CAREFUL_FROM_START - 1 : 0,
      },
    }),
  });
}
