/** The words of what changed between two sweeps of one scope, and how a run's changes are counted. */

/** An edge of a run, in the order in which they are worth looking at. Each has rows. */
export const CHANGE_WORDS = [
  'newly_problem',
  'became_unknown',
  'rule_changed',
  'known_again',
  'new_subject',
  'gone',
  'fixed',
  'still_problem',
] as const;
export type ChangeWord = (typeof CHANGE_WORDS)[number];

/**
 * How many identities of a run went each way. With `baseline` (what nobody had looked at before, so that nobody knows
 * whether it is new), `still_ok` and `still_unknown`, which have no rows, they are all identities that it looked at, and
 * those that are gone.
 */
export type ChangeCounts = Readonly<Record<ChangeWord | 'baseline' | 'still_ok' | 'still_unknown', number>>;

/**
 * What came of looking for changes. `first`: there was nothing to compare with, and now there is. `late`: a run that was
 * accepted later is recorded already, so this one left the standings alone. `unlooked`: it was stopped before it looked
 * at any subject.
 */
export type SweepOutcome = 'first' | 'compared' | 'late' | 'unlooked';

/** Why a run cannot tell that what it did not find is gone: it was stopped, or its plan left something out. */
export type GoneUntold = 'stopped' | 'plan_not_whole';

/** What a run changed in its scope. */
export interface Sweep {
  readonly runId: string;
  readonly runbookName: string;
  readonly scopeKey: string;
  readonly outcome: SweepOutcome;
  /** The run whose standings it was compared with; of a late one, the run that came before it. */
  readonly against: { readonly runId: string; readonly now: Date } | null;
  readonly goneUntold: GoneUntold | null;
  readonly counts: ChangeCounts;
}

/** What a run's plan left out, as its ledger says. */
export interface PlanGaps {
  /** It says that something was not checked. */
  readonly left: boolean;
  /** What it says can never be covered, one short text each: what the plan before said too is no news. */
  readonly never: readonly string[];
}

/** The rules that judged a run. */
export interface JudgedBy {
  readonly name: string;
  readonly version: string;
  /** Over the rules themselves and the standings of their words, as far as they are declared. */
  readonly digest: string | null;
}

/** All words that are counted. */
export const COUNTED_WORDS = [...CHANGE_WORDS, 'baseline', 'still_ok', 'still_unknown'] as const;

/** Counts with a number for every word. */
export function changeCounts(counted: Partial<ChangeCounts> = {}): ChangeCounts {
  return Object.fromEntries(COUNTED_WORDS.map((word) => [word, counted[word] ?? 0])) as ChangeCounts;
}
