/**
 * What becomes of a slot that is due: the decision alone, without a database. Whoever carries it out writes one row, with
 * the reason.
 */

/**
 * What a slot does that finds a run of its schedule not over (one that waits for a person counts):
 * - `skip`: nothing;
 * - `queue_one`: it waits for its end, one slot at a time;
 * - `cancel_previous`: it asks for the end of that run and waits for it, in place of a slot that waited before;
 * - `allow`: it starts beside it.
 */
export const OVERLAP_POLICIES = ['skip', 'queue_one', 'cancel_previous', 'allow'] as const;
export type OverlapPolicy = (typeof OVERLAP_POLICIES)[number];

/** What a slot finds when it is due. */
export interface TickSituation {
  readonly dueAt: Date;
  readonly now: Date;
  readonly overlap: OverlapPolicy;
  /** A slot that is found later than that is missed. */
  readonly catchUpMs: number;
  /** A later slot of the schedule is due already. */
  readonly laterIsDue: boolean;
  /** Runs of the schedule that are not over. */
  readonly openRuns: number;
  /** An earlier slot waits for the end of a run. */
  readonly oneWaits: boolean;
}

export type TickDecision =
  | { readonly kind: 'start' }
  /** It waits for the end of the open runs. */
  | { readonly kind: 'queue'; readonly cancelsOpenRuns: boolean; readonly replacesWaiting: boolean }
  | { readonly kind: 'missed' | 'skipped'; readonly code: string; readonly reason: string };

/** Decides one slot. */
export function decideTick(situation: TickSituation): TickDecision {
  const { dueAt, now, overlap, catchUpMs, openRuns } = situation;
  const lateMs = now.getTime() - dueAt.getTime();
  if (lateMs > catchUpMs) {
    return missed('too_late', `found ${seconds(lateMs)} s late, and ${seconds(catchUpMs)} s are caught up`);
  }
  // A sweep of now is worth what the ones before it would have been; who wants each of them says `allow`.
  if (situation.laterIsDue && overlap !== 'allow') return missed('later_is_due', 'a later slot was due by then');
  if (openRuns === 0 || overlap === 'allow') return { kind: 'start' };
  if (overlap === 'cancel_previous') return { kind: 'queue', cancelsOpenRuns: true, replacesWaiting: true };
  if (overlap === 'skip') {
    return { kind: 'skipped', code: 'still_running', reason: 'a run of this schedule is not over' };
  }
  if (situation.oneWaits) {
    return { kind: 'skipped', code: 'one_waits', reason: 'a slot before this one waits for a run that is not over' };
  }
  return { kind: 'queue', cancelsOpenRuns: false, replacesWaiting: false };
}

function missed(code: string, reason: string): TickDecision {
  return { kind: 'missed', code, reason };
}

function seconds(ms: number): number {
  return Math.round(ms / 1000);
}
