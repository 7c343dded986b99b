/**
 * Totals of a fleet: what many subjects say together, in a space that does not grow with them.
 *
 * Invariant: merging is associative and its result does not depend on how the subjects were cut into chunks, nor on the
 * order in which those settled. The ledger keeps its smallest 200 distinct entries and counts every mention: an entry
 * that belongs to the smallest of all is among the smallest of each part, so nothing is lost by merging parts.
 */
import type { ChartSummary } from './chart-summary.ts';
import type { CoverageEntry, Ledger } from './coverage.ts';
import { type HeardLabels, mergeHeard, NOTHING_HEARD } from './verdict-meanings.ts';
import { addWalkCounts, NO_WALK, type WalkCounts } from './walk.ts';

/** How many distinct entries of its subjects' ledgers a fleet's answer lists. */
export const MAX_LEDGER_ENTRIES = 200;

type ListName = keyof Ledger;
/** `[what, why or null, mentions]`, sorted by what and why. */
type Mention = readonly [what: string, why: string | null, mentions: number];

/** One list of a fleet's ledger: the entries kept, and all mentions, kept or not. */
export interface MentionList {
  readonly kept: readonly Mention[];
  readonly mentions: number;
}

/** Plain JSON: a chunk stores its totals, collect merges them. */
export interface FleetTotals {
  readonly walk: WalkCounts;
  readonly heard: HeardLabels;
  readonly ledger: Readonly<Record<ListName, MentionList>>;
  /** The stamp of the first subject that had one. */
  readonly stamp?: { readonly ordinal: number; readonly value: Readonly<Record<string, unknown>> };
}

const NO_MENTIONS: MentionList = Object.freeze({ kept: [], mentions: 0 });
/** The sum of nothing. */
export const NO_TOTALS: FleetTotals = Object.freeze({
  walk: NO_WALK,
  heard: NOTHING_HEARD,
  ledger: { checked: NO_MENTIONS, notChecked: NO_MENTIONS, cannotCover: NO_MENTIONS },
});
const LISTS: readonly ListName[] = ['checked', 'notChecked', 'cannotCover'];

/** The totals of a list of subjects. */
export function totalSubjects(
  subjects: readonly { readonly ordinal: number; readonly summary?: ChartSummary }[],
): FleetTotals {
  let walk = NO_WALK;
  let heard = NOTHING_HEARD;
  let stamp: FleetTotals['stamp'];
  const entries: Record<ListName, CoverageEntry[]> = { checked: [], notChecked: [], cannotCover: [] };
  for (const { ordinal, summary } of subjects) {
    if (summary === undefined) continue;
    walk = addWalkCounts(walk, summary.walk);
    heard = mergeHeard(heard, summary.heard);
    if (summary.stamp !== undefined && (stamp === undefined || ordinal < stamp.ordinal)) {
      stamp = { ordinal, value: summary.stamp };
    }
    for (const list of LISTS) entries[list].push(...summary.innerLedger[list], ...summary.ownLedger[list]);
  }
  const ledger = {
    checked: countMentions(entries.checked),
    notChecked: countMentions(entries.notChecked),
    cannotCover: countMentions(entries.cannotCover),
  };
  return { walk, heard, ledger, ...(stamp !== undefined && { stamp }) };
}

/** Merges two totals. */
export function mergeTotals(left: FleetTotals, right: FleetTotals): FleetTotals {
  const stamps = [left.stamp, right.stamp].filter((stamp) => stamp !== undefined);
  const stamp = stamps.toSorted((a, b) => a.ordinal - b.ordinal)[0];
  return {
    walk: addWalkCounts(left.walk, right.walk),
    heard: mergeHeard(left.heard, right.heard),
    ledger: {
      checked: mergeMentions(left.ledger.checked, right.ledger.checked),
      notChecked: mergeMentions(left.ledger.notChecked, right.ledger.notChecked),
      cannotCover: mergeMentions(left.ledger.cannotCover, right.ledger.cannotCover),
    },
    ...(stamp !== undefined && { stamp }),
  };
}

/** The fleet's ledger as entries, with one more that counts what is not listed. */
export function totalsLedger(totals: FleetTotals): Ledger {
  const read = (list: ListName): CoverageEntry[] => {
    const { kept, mentions } = totals.ledger[list];
    const entries = kept.map(([what, why]) => (why === null ? { what } : { what, why }));
    const listed = kept.reduce((sum, [, , count]) => sum + count, 0);
    if (mentions === listed) return entries;
    const what = `further entries of single subjects, mentioned ${mentions - listed} time(s)`;
    return [
      ...entries,
      { what, why: `an answer lists ${MAX_LEDGER_ENTRIES} distinct entries of its subjects at most` },
    ];
  };
  return { checked: read('checked'), notChecked: read('notChecked'), cannotCover: read('cannotCover') };
}

function countMentions(entries: readonly CoverageEntry[]): MentionList {
  const counts = new Map<string, Mention>();
  for (const { what, why = null } of entries) {
    const id = JSON.stringify([what, why]);
    counts.set(id, [what, why, (counts.get(id)?.[2] ?? 0) + 1]);
  }
  return { kept: smallest([...counts.values()]), mentions: entries.length };
}

function mergeMentions(left: MentionList, right: MentionList): MentionList {
  if (left.mentions === 0) return right;
  if (right.mentions === 0) return left;
  const counts = new Map<string, Mention>();
  for (const [what, why, mentions] of [...left.kept, ...right.kept]) {
    const id = JSON.stringify([what, why]);
    counts.set(id, [what, why, (counts.get(id)?.[2] ?? 0) + mentions]);
  }
  return { kept: smallest([...counts.values()]), mentions: left.mentions + right.mentions };
}

function smallest(mentions: Mention[]): Mention[] {
  return mentions.sort(compareMentions).slice(0, MAX_LEDGER_ENTRIES);
}

function compareMentions(left: Mention, right: Mention): number {
  if (left[0] !== right[0]) return left[0] < right[0] ? -1 : 1;
  if (left[1] === right[1]) return 0;
  if (left[1] === null) return -1;
  return right[1] === null || left[1] > right[1] ? 1 : -1;
}
