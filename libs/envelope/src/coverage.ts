/**
 * The coverage ledger: what an answer checked, what it did not check, and what it can never cover.
 *
 * Invariants (contract "What every answer carries" and "Coverage primitives"):
 * - a list that is empty is absent;
 * - `why` is required on `cannot_cover`;
 * - merging is associative and idempotent, and commutative up to order: entries are the same when `what` and `why` are,
 *   and the first stays.
 */
import { isAbsence } from './absence-shape.ts';
import { isPlainObject } from './plain-object.ts';

/** One line of the ledger. `why` is optional except on `cannot_cover`. */
export interface CoverageEntry {
  readonly what: string;
  readonly why?: string;
}

/** The three lists, as they travel: lists that are empty are absent. */
export interface CoverageLists {
  readonly checked?: readonly CoverageEntry[];
  readonly not_checked?: readonly CoverageEntry[];
  readonly cannot_cover?: readonly CoverageEntry[];
}

/** A ledger being gathered: all three lists present, perhaps empty. */
export interface Ledger {
  readonly checked: readonly CoverageEntry[];
  readonly notChecked: readonly CoverageEntry[];
  readonly cannotCover: readonly CoverageEntry[];
}

/** What a tool or a stage may write: bare strings stand for `{ what }`. */
export type CoverageInput = string | CoverageEntry;

/** Options of {@link coverage}. */
export interface CoverageOptions {
  readonly checked?: readonly CoverageInput[];
  readonly notChecked?: readonly CoverageInput[];
  readonly cannotCover?: readonly CoverageEntry[];
}

/** A tool result with its ledger around it. */
export interface CoverageResult<T = unknown> {
  readonly af_coverage: CoverageLists & { readonly note: string };
  readonly result: T;
}

/** One ledger found in a tool result: its own, or that of the absence it holds. */
export interface DeclaredCoverage {
  readonly kind: 'ledger' | 'absence';
  readonly coverage: Ledger;
}

/** What {@link readCoverageResult} found. `status` is there when the result is, or holds, an absence. */
export interface CoverageReading {
  readonly status?: 'absent';
  /** From the outside in: a ledger first, then the absence it is put around. */
  readonly declared: readonly DeclaredCoverage[];
  /** What the ledger is around; the absence itself when there is no ledger. */
  readonly result: unknown;
}

/** The static sentence on every ledger. */
export const COVERAGE_NOTE =
  'This answer speaks only of what `checked` lists. What stands under `not_checked` was within reach and was not looked at; what stands under `cannot_cover` is out of reach of this procedure. Nothing found there is not the same as nothing there.';

export const EMPTY_LEDGER: Ledger = Object.freeze({ checked: [], notChecked: [], cannotCover: [] });

export const COVERAGE_OPTIONS: readonly string[] = ['checked', 'notChecked', 'cannotCover'];

/**
 * Wraps a tool's content with what it covers.
 *
 * @throws TypeError when all three lists are empty, an entry is malformed, or a key is none of the three: a ledger that
 * says nothing, or less than its author meant, is refused where it is made.
 */
export function coverage<T>(content: T, options: CoverageOptions): CoverageResult<T> {
  refuseUnknown('coverage', 'list', options, COVERAGE_OPTIONS);
  const ledger = readOptions('coverage', options);
  if (ledger.checked.length + ledger.notChecked.length + ledger.cannotCover.length === 0) {
    throw new TypeError('coverage: give at least one entry in checked, notChecked or cannotCover; all three are empty');
  }
  return { af_coverage: { ...coverageLists(ledger), note: COVERAGE_NOTE }, result: content };
}

/** A key that nobody reads would be a declared limit that vanished. @throws TypeError naming it */
export function refuseUnknown(
  caller: string,
  what: 'list' | 'option',
  options: object | undefined,
  known: readonly string[],
): void {
  const unknown = Object.keys(options ?? {}).find((key) => !known.includes(key));
  if (unknown !== undefined) throw new TypeError(`${caller}: ${unknown} is no ${what}; there are ${known.join(', ')}`);
}

/** Reads declared lists strictly. @throws TypeError naming the list and the place of a malformed entry */
export function readOptions(caller: string, options: CoverageOptions | undefined): Ledger {
  return {
    checked: strictEntries(caller, 'checked', options?.checked, false),
    notChecked: strictEntries(caller, 'notChecked', options?.notChecked, false),
    cannotCover: strictEntries(caller, 'cannotCover', options?.cannotCover, true),
  };
}

/**
 * Reads a tool result strictly: a plain object with an `af_coverage` object and a `result` key, or an absence, or one
 * around the other. Everything else is not coverage and passes through untouched: undefined.
 */
export function readCoverageResult(value: unknown): CoverageReading | undefined {
  if (isAbsence(value)) return { status: 'absent', declared: [absenceCoverage(value)], result: value };
  if (!isPlainObject(value) || !Object.hasOwn(value, 'result') || !isPlainObject(value.af_coverage)) return undefined;
  const { result } = value;
  const own: DeclaredCoverage = { kind: 'ledger', coverage: readLedger(value.af_coverage) };
  if (!isAbsence(result)) return { declared: [own], result };
  return { status: 'absent', declared: [own, absenceCoverage(result)], result };
}

/** All that a tool result declares, as one ledger; empty when it declares nothing. */
export function ledgerOfResult(value: unknown): Ledger {
  const reading = readCoverageResult(value);
  return reading === undefined ? EMPTY_LEDGER : mergeLedgers(reading.declared.map(({ coverage: ledger }) => ledger));
}

/**
 * Reads three lists leniently, as a chart's state or a foreign tool writes them: both spellings of the keys, bare strings
 * for entries; a malformed entry is dropped (contract: "a malformed entry is dropped"), and of one that names what it is
 * about only the malformed `why`, where none is required.
 */
export function readLedger(value: unknown): Ledger {
  if (!isPlainObject(value)) return EMPTY_LEDGER;
  return mergeLedgers([
    {
      checked: lenientEntries(value.checked, false),
      notChecked: [...lenientEntries(value.not_checked, false), ...lenientEntries(value.notChecked, false)],
      cannotCover: [...lenientEntries(value.cannot_cover, true), ...lenientEntries(value.cannotCover, true)],
    },
  ]);
}

/** Merges ledgers in order; an entry equal to one already there (`what` and `why`) is left out. */
export function mergeLedgers(ledgers: readonly Ledger[]): Ledger {
  const given = ledgers.filter((ledger) => ledger !== EMPTY_LEDGER);
  if (given.length === 0) return EMPTY_LEDGER;
  return {
    checked: mergeEntries(given.map((ledger) => ledger.checked)),
    notChecked: mergeEntries(given.map((ledger) => ledger.notChecked)),
    cannotCover: mergeEntries(given.map((ledger) => ledger.cannotCover)),
  };
}

/** The lists in wire form: snake_case, empty ones absent. */
export function coverageLists(ledger: Ledger): CoverageLists {
  return {
    ...(ledger.checked.length > 0 && { checked: ledger.checked }),
    ...(ledger.notChecked.length > 0 && { not_checked: ledger.notChecked }),
    ...(ledger.cannotCover.length > 0 && { cannot_cover: ledger.cannotCover }),
  };
}

function absenceCoverage(absence: Record<string, unknown>): DeclaredCoverage {
  return { kind: 'absence', coverage: readLedger(absence) };
}

function mergeEntries(lists: readonly (readonly CoverageEntry[])[]): CoverageEntry[] {
  const byIdentity = new Map<string, CoverageEntry>();
  for (const list of lists) {
    for (const entry of list) {
      const identity = JSON.stringify([entry.what, entry.why ?? null]);
      if (!byIdentity.has(identity)) byIdentity.set(identity, entry);
    }
  }
  return [...byIdentity.values()];
}

function readEntry(value: unknown, whyRequired: boolean): CoverageEntry | undefined {
  if (typeof value === 'string') return value.trim() === '' || whyRequired ? undefined : { what: value.trim() };
  if (!isPlainObject(value) || typeof value.what !== 'string' || value.what.trim() === '') return undefined;
  const what = value.what.trim();
  if (value.why === undefined || value.why === null) return whyRequired ? undefined : { what };
  if (typeof value.why !== 'string' || value.why.trim() === '') return undefined;
  return { what, why: value.why.trim() };
}

function lenientEntries(value: unknown, whyRequired: boolean): CoverageEntry[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item) => {
    const entry = readEntry(item, whyRequired);
    if (entry !== undefined || whyRequired || !isPlainObject(item)) return entry ?? [];
    // A reason that cannot be used costs the reason: a gap that was declared is never lost.
    return readEntry(item.what, false) ?? [];
  });
}

function strictEntries(caller: string, option: string, value: unknown, whyRequired: boolean): CoverageEntry[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new TypeError(`${caller}: ${option} must be a list, got ${typeof value}`);
  return value.map((item, index) => {
    const entry = readEntry(item, whyRequired);
    if (entry === undefined) {
      const expected = whyRequired ? '{ what, why }, both non-empty' : 'a non-empty string or { what, why? }';
      throw new TypeError(`${caller}: ${option}[${index}] must be ${expected}`);
    }
    return entry;
  });
}
