/**
 * What a fleet's answer says of what changed since the sweep before. The results store finds it; here are its shape and its
 * words. An answer without it is the same byte for byte as before there was such a thing.
 */

/** How many identities went each way. The three that have no rows of their own come last. */
export interface ChangeCountsNote {
  readonly newly_problem: number;
  readonly fixed: number;
  readonly still_problem: number;
  readonly new_subject: number;
  readonly gone: number;
  readonly became_unknown: number;
  readonly known_again: number;
  readonly rule_changed: number;
  readonly still_ok: number;
  readonly still_unknown: number;
  /** Never looked at before this run, in a scope of which nobody had seen the whole: whether they are new is not known. */
  readonly baseline: number;
}

/** `result.changes`: what this run changed in its scope, against which run. */
export interface ChangesNote {
  /** Sweeps of one runbook and scope are compared with each other. */
  readonly scope: string;
  /**
   * `first`: this run is what the next one is compared with. `late`: a run that was accepted later is recorded already.
   * `unlooked`: it was stopped before it looked at any subject.
   */
  readonly outcome: 'first' | 'compared' | 'late' | 'unlooked';
  /** Of a compared one alone: the run before, and the instant it judged by. */
  readonly against?: { readonly run_id: string; readonly now: string };
  readonly counts?: ChangeCountsNote;
  /** What the counts do not tell, and why. */
  readonly note?: string;
}

/** In the order in which they are said. What goes on well, and what is as unknown as before, is not said. */
const SAID: readonly (readonly [keyof ChangeCountsNote, string])[] = [
  ['newly_problem', 'newly a problem'],
  ['fixed', 'fixed'],
  ['still_problem', 'still a problem'],
  ['became_unknown', 'unknown now'],
  ['known_again', 'known again'],
  ['rule_changed', 'judged otherwise by changed rules'],
  ['new_subject', 'new'],
  ['gone', 'gone'],
];

/** The changes in words, like `2 newly a problem, 1 fixed`; undefined where nothing was compared. */
export function describeChanges({ against, counts }: ChangesNote): string | undefined {
  if (against === undefined || counts === undefined) return undefined;
  const said = SAID.filter(([word]) => counts[word] > 0).map(([word, text]) => `${counts[word]} ${text}`);
  return said.length === 0 ? 'nothing changed' : said.join(', ');
}

/** The clause of an answer's sentence; empty where nothing was compared. */
export function changesClause(note: ChangesNote | undefined): string {
  const said = note === undefined ? undefined : describeChanges(note);
  return said === undefined ? '' : `; since run ${note?.against?.run_id}: ${said}`;
}
