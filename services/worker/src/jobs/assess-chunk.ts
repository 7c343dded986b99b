/**
 * Assess: claim a chunk, take a turn over its subjects, mint their walks, settle once.
 */
import {
  type AssessedSubject,
  createAssessor,
  type FleetRunbook,
  notChecked,
  type PlannedSubject,
  totalSubjects,
} from '@muster/envelope';
import { COMPLETED, type JobMessage, type JobOutcome } from '@muster/queue';
import {
  type ChunkClaim,
  chunkStarts,
  claimChunk,
  releaseChunk,
  type SubjectSettlement,
  settleChunk,
  startCollect,
  type WalkRange,
} from '@muster/results';
import { takeTurn } from '../assess-turn.ts';
import { AttemptArtifacts } from '../attempt-artifacts.ts';
import { decodeItems, encodeItems } from '../chunk-buffer.ts';
import type { ProgressMarker } from '../progress-marker.ts';
import { readInput } from '../run-input.ts';
import { runTools } from '../run-tools.ts';
import type { StoredChunk } from '../stored-summaries.ts';
import { mintSegment } from '../walk-segment.ts';
import type { WorkerContext } from '../worker-context.ts';
import { RELEASED } from './run-attempt.ts';

/** From this start on a chunk is taken one subject a turn, alone in its process: something in it ends processes. */
const CAREFUL_FROM_START = 3;
/** From this start on its first subject is set aside: it was alone when the process ended, twice, so it was no accident. */
const SET_ASIDE_FROM_START = 5;

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
  const covered = await coverSubjects(context, runbook, claim, planned, stopping);
  if (covered.length === 0) {
    await releaseChunk(context.db, { chunkId: claim.chunk.id, fence: claim.fence });
    return RELEASED;
  }
  const settled = await settle(context, claim, planned, covered);
  if (settled === 'lost') return { kind: 'discarded', reason: 'another attempt has this chunk' };
  if (!(await startCollect(context.db, claim.run.id))) await progress.note(claim.run);
  return COMPLETED;
}

async function coverSubjects(
  context: WorkerContext,
  runbook: FleetRunbook,
  claim: ChunkClaim,
  planned: readonly PlannedSubject[],
  stopping: AbortSignal,
): Promise<AssessedSubject[]> {
  const { run, starts } = claim;
  const first = planned[0] as PlannedSubject;
  if (starts >= SET_ASIDE_FROM_START) {
    const reason = `assessing it ended the worker process ${starts - CAREFUL_FROM_START} times, so it was set aside`;
    return [notChecked(first, 'worker_died', reason)];
  }
  const watch = context.stops.watch(run.id, run.stopReason);
  try {
    const input = await readInput(context, run, runbook);
    const { tools } = runTools(context, run, AbortSignal.any([watch.signal, stopping]));
    const args = { input, now: run.now.toISOString() };
    const assessor = createAssessor(runbook, args, { toolCallId: run.id, runId: run.id, tools });
    const startedAt = performance.now();
    return await takeTurn(assessor, starts >= CAREFUL_FROM_START ? [first] : planned, {
      concurrency: runbook.limits.concurrency,
      sliceMs: context.limits.sliceMs,
      stop: watch,
      stopping,
      elapsedMs: () => performance.now() - startedAt,
    });
  } finally {
    watch.release();
  }
}

async function settle(
  context: WorkerContext,
  claim: ChunkClaim,
  planned: readonly PlannedSubject[],
  covered: readonly AssessedSubject[],
): Promise<'settled' | 'lost'> {
  const { run, chunk, fence } = claim;
  const artifacts = new AttemptArtifacts(context, { run, chunkId: chunk.id, fence });
  const what = `subjects ${chunk.firstOrdinal} to ${chunk.firstOrdinal + covered.length - 1}`;
  const segment = await mintSegment(
    artifacts,
    covered.map((subject) => subject.walk),
    { runId: run.id, what },
  );
  if (segment.failure !== undefined)
    context.log.warn({ run: run.id, chunk: chunk.id, failure: segment.failure }, 'no walk segment');
  const summary: StoredChunk = { totals: totalSubjects(covered) };
  const rest = planned.slice(covered.length);
  const remainderId = context.newId();
  return await settleChunk(context.db, {
    chunkId: chunk.id,
    fence,
    subjects: covered.map((subject, index) => settlementOf(subject, segment.ranges[index])),
    summary,
    ...(segment.ref !== undefined && { walkRef: segment.ref }),
    artifacts: artifacts.commits,
    ...(rest.length > 0 && {
      remainder: {
        id: remainderId,
        items: context.box.seal(encodeItems(rest), remainderId),
        // The rest is taken as carefully, until the subject that ends processes has been found.
        starts: claim.starts >= CAREFUL_FROM_START && claim.starts < SET_ASIDE_FROM_START ? CAREFUL_FROM_START - 1 : 0,
      },
    }),
  });
}

function settlementOf(subject: AssessedSubject, walk: WalkRange | undefined): SubjectSettlement {
  const { outcome, verdict, standing, reasonCode, reason, columns, evidence } = subject;
  return {
    outcome,
    ...(verdict !== undefined && { verdict, standing }),
    ...(reasonCode !== undefined && { reasonCode }),
    reason,
    columns,
    ...(evidence !== undefined && { evidence }),
    ...(walk !== undefined && { walk }),
  } as SubjectSettlement;
}
