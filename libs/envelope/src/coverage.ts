/**
 * The coverage ledger: what an answer checked, what it did not check, and what it can never cover.
 *
 * Invariants (contract "What every answer carries" and "Coverage primitives"):
 * - a list that is empty is absent;
 * - `why` is required on `cannot_cover`;
 * - merging is associative and idempotent: entries are the same when `what` and `why` are, and the first stays.
 */

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
  readonly af_coverage: CoverageLists;
  readonly result: T;
}

export const EMPTY_LEDGER: Ledger = Object.freeze({ checked: [], notChecked: [], cannotCover: [] });

/**
 * Wraps a tool's content with what it covers.
 *
 * @throws TypeError when all three lists are empty, or an entry is malformed: a ledger that says nothing is a mistake of
 * the tool, and is refused where it is made.
 */
export function coverage<T>(content: T, options: CoverageOptions): CoverageResult<T> {
  const ledger: Ledger = {
    checked: strictEntries('checked', options?.checked, false),
    notChecked: strictEntries('notChecked', options?.notChecked, false),
    cannotCover: strictEntries('cannotCover', options?.cannotCover, true),
  };
  if (ledger.checked.length + ledger.notChecked.length + ledger.cannotCover.length === 0) {
    throw new TypeError('coverage: give at least one entry in checked, notChecked or cannotCover; all three are empty');
  }
  return { af_coverage: coverageLists(ledger), result: content };
}

/**
 * Reads a tool result strictly: a plain object with an `af_coverage` object and a `result` key, or undefined.
 * Everything else is not coverage and passes through untouched.
 */
export function readCoverageResult(value: unknown): { ledger: Ledger; result: unknown } | undefined {
  if (!isPlainObject(value) || !Object.hasOwn(value, 'result') || !isPlainObject(value.af_coverage)) return undefined;
  return { ledger: readLedger(value.af_coverage), result: value.result };
}

/**
 * Reads three lists leniently, as a chart's state or a foreign tool writes them: both spellings of the keys, bare strings
 * for entries; a malformed entry is dropped (contract: "a malformed entry is dropped").
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
  return {
    checked: mergeEntries(ledgers.map((ledger) => ledger.checked)),
    notChecked: mergeEntries(ledgers.map((ledger) => ledger.notChecked)),
    cannotCover: mergeEntries(ledgers.map((ledger) => ledger.cannotCover)),
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

/** True for an object literal or a null-prototype object: what JSON can give. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (value === null || typeof value !== 'object') return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
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
  if (typeof value === 'string') return value.trim() === '' || whyRequired ? undefined : { what: value };
  if (!isPlainObject(value) || typeof value.what !== 'string' || value.what.trim() === '') return undefined;
  if (value.why === undefined || value.why === null) return whyRequired ? undefined : { what: value.what };
  if (typeof value.why !== 'string' || (whyRequired && value.why.trim() === '')) return undefined;
  return { what: value.what, why: value.why };
}

function lenientEntries(value: unknown, whyRequired: boolean): CoverageEntry[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item) => readEntry(item, whyRequired) ?? []);
}

function strictEntries(option: string, value: unknown, whyRequired: boolean): CoverageEntry[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new TypeError(`coverage: ${option} must be a list, got ${typeof value}`);
  return value.map((item, index) => {
    const entry = readEntry(item, whyRequired);
    if (entry === undefined) {
      const expected = whyRequired ? '{ what, why }, both non-empty' : 'a non-empty string or { what, why? }';
      throw new TypeError(`coverage: ${option}[${index}] must be ${expected}`);
    }
    return entry;
  });
}
