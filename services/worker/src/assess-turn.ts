/**
 * One turn over a chunk's subjects: assesses them in order until the chunk is done, its time slice is over, the run is to
 * stop, or the worker stops.
 *
 * Invariants (DESIGN 5): what comes back is always the first part of the chunk without a gap; a turn covers at least one
 * subject unless the worker stops; the event loop is yielded often enough for locks to be renewed (FACTS).
 */
import { type AssessedSubject, type createAssessor, notChecked, type PlannedSubject } from '@muster/envelope';
import type { StopReason } from '@muster/results';

export interface TurnOptions {
  readonly concurrency: number;
  readonly sliceMs: number;
  /** The run's own reason to stop; what was not assessed is then `not_checked` for it. */
  readonly stop: { readonly signal: AbortSignal; reason(): StopReason | undefined };
  /** The worker stops: what was not assessed stays open. */
  readonly stopping: AbortSignal;
  readonly elapsedMs: () => number;
}

/** Why a stopped run did not check a subject, in a person's words. */
export const STOP_REASONS: Readonly<Record<StopReason, string>> = {
  cancelled: 'the run was cancelled before this subject was assessed',
  deadline: 'the deadline of the run came before this subject was assessed',
  error_budget: 'the run was stopped because too many of its subjects failed',
  withdrawn: 'definition withdrawn: no worker offers the definition of this run any more',
};

const YIELD_EVERY_MS = 10;

/** Takes a turn. The result covers the first subjects of `planned`, perhaps all, perhaps (when stopping) none. */
export async function takeTurn(
  assessor: ReturnType<typeof createAssessor>,
  planned: readonly PlannedSubject[],
  options: TurnOptions,
): Promise<AssessedSubject[]> {
  const { stop, stopping } = options;
  const results: (AssessedSubject | undefined)[] = [];
  const signal = AbortSignal.any([stop.signal, stopping]);
  let next = 0;
  let yieldedAt = options.elapsedMs();
  const lane = async () => {
    while (next < planned.length && !stopping.aborted && (next === 0 || options.elapsedMs() < options.sliceMs)) {
      const index = next++;
      const subject = planned[index] as PlannedSubject;
      results[index] = await assessOne(assessor, subject, signal, stop);
      if (options.elapsedMs() - yieldedAt >= YIELD_EVERY_MS) {
        await new Promise(setImmediate);
        yieldedAt = options.elapsedMs();
      }
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, options.concurrency) }, lane));
  const gap = Array.from({ length: next }, (_, index) => results[index]).indexOf(undefined);
  return results.slice(0, gap === -1 ? next : gap) as AssessedSubject[];
}

async function assessOne(
  assessor: ReturnType<typeof createAssessor>,
  subject: PlannedSubject,
  signal: AbortSignal,
  stop: TurnOptions['stop'],
): Promise<AssessedSubject | undefined> {
  const already = stop.reason();
  if (already !== undefined) return notChecked(subject, already, STOP_REASONS[already]);
  const assessed = await assessor.assess(subject, signal);
  if (assessed !== 'aborted') return assessed;
  const reason = stop.reason();
  return reason === undefined ? undefined : notChecked(subject, reason, STOP_REASONS[reason]);
}
