/**
 * One turn over a chunk's subjects: assesses them in order until the chunk is done, its time slice is over, the run is to
 * stop, or the worker stops.
 *
 * Invariants (DESIGN 5): what is handed out is always the next subjects in order without a gap; a turn covers at least
 * one subject unless the worker stops; the event loop is yielded often enough for messages and timers (FACTS).
 */
import { type AssessedSubject, type createAssessor, notChecked, type PlannedSubject } from '@muster/envelope';
import { STOP_REASONS } from '../stop-reasons.ts';
import type { TurnStop } from './turn-stop.ts';

export interface TurnOptions {
  readonly concurrency: number;
  readonly sliceMs: number;
  readonly stop: TurnStop;
  readonly elapsedMs: () => number;
  readonly onBegin: (index: number) => void;
  readonly onDone: (index: number) => void;
  /** Handed the next subjects in order as they are covered. */
  readonly onResults: (covered: readonly AssessedSubject[]) => void;
}

const YIELD_EVERY_MS = 10;

/** Takes a turn. */
export async function takeTurn(
  assessor: ReturnType<typeof createAssessor>,
  planned: readonly PlannedSubject[],
  options: TurnOptions,
): Promise<void> {
  const { stop } = options;
  const waiting = new Map<number, AssessedSubject>();
  let next = 0;
  let handedOut = 0;
  let yieldedAt = options.elapsedMs();
  const lane = async () => {
    while (next < planned.length && !stop.leaving && (next === 0 || options.elapsedMs() < options.sliceMs)) {
      const index = next++;
      options.onBegin(index);
      const assessed = await assessOne(assessor, planned[index] as PlannedSubject, stop);
      options.onDone(index);
      // A subject that was given up because the worker stops leaves a gap: nothing behind it is handed out.
      if (assessed !== undefined) waiting.set(index, assessed);
      const ready: AssessedSubject[] = [];
      for (let head = waiting.get(handedOut); head !== undefined; head = waiting.get(handedOut)) {
        waiting.delete(handedOut++);
        ready.push(head);
      }
      if (ready.length > 0) options.onResults(ready);
      if (options.elapsedMs() - yieldedAt >= YIELD_EVERY_MS) {
        await new Promise(setImmediate);
        yieldedAt = options.elapsedMs();
      }
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, options.concurrency) }, lane));
}

async function assessOne(
  assessor: ReturnType<typeof createAssessor>,
  subject: PlannedSubject,
  stop: TurnStop,
): Promise<AssessedSubject | undefined> {
  const already = stop.reason();
  if (already !== undefined) return notChecked(subject, already, STOP_REASONS[already]);
  const assessed = await assessor.assess(subject, stop.overSignal, stop.signal);
  if (assessed !== 'aborted') return assessed;
  const reason = stop.reason();
  return reason === undefined ? undefined : notChecked(subject, reason, STOP_REASONS[reason]);
}
