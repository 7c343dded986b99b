/**
 * The declared "nothing found": a fact about the world that ends a run and is its answer, verbatim.
 *
 * Recognition is strict (contract "Coverage primitives"): a plain object with `af_absent === true` and a non-empty
 * `checked` list.
 */
import type { CoverageEntry, CoverageInput } from './coverage.ts';
import { coverage, isPlainObject, readCoverageResult } from './coverage.ts';

/** What {@link absent} returns. */
export interface AbsenceResult {
  readonly af_absent: true;
  readonly outcome: 'nothing_found';
  readonly looked_for: string;
  readonly checked: readonly CoverageEntry[];
  readonly not_checked?: readonly CoverageEntry[];
  readonly cannot_cover?: readonly CoverageEntry[];
  readonly retry_returns_the_same: true;
  readonly try_instead?: string;
  readonly note: string;
}

/** Options of {@link absent}. */
export interface AbsenceOptions {
  /** What was looked for, in the asker's words. */
  readonly what: string;
  /** Where it was looked for; at least one entry. */
  readonly checked: readonly CoverageInput[];
  readonly notChecked?: readonly CoverageInput[];
  readonly cannotCover?: readonly CoverageEntry[];
  /** What would be worth trying instead. */
  readonly tryInstead?: string;
}

/** The static sentence on every absence. Nothing of the request is put into it: it is read by models. */
export const ABSENCE_NOTE =
  'Nothing was found in the places listed under `checked`. This is an answer, not an error: asking again the same way gives the same. It says nothing about places that are not listed.';

/**
 * Declares that nothing was found.
 *
 * @throws TypeError when `what` is empty or `checked` has no entry: an absence that looked nowhere proves nothing.
 */
export function absent(options: AbsenceOptions): AbsenceResult {
  if (typeof options?.what !== 'string' || options.what.trim() === '') {
    throw new TypeError('absent: what must be a non-empty string that says what was looked for');
  }
  if (!Array.isArray(options.checked) || options.checked.length === 0) {
    throw new TypeError('absent: checked must have at least one entry; an absence that looked nowhere proves nothing');
  }
  const { tryInstead } = options;
  if (tryInstead !== undefined && (typeof tryInstead !== 'string' || tryInstead.trim() === '')) {
    throw new TypeError('absent: tryInstead must be a non-empty string when it is given');
  }
  const lists = coverage(null, options).af_coverage;
  return {
    af_absent: true,
    outcome: 'nothing_found',
    looked_for: options.what,
    checked: lists.checked ?? [],
    ...(lists.not_checked !== undefined && { not_checked: lists.not_checked }),
    ...(lists.cannot_cover !== undefined && { cannot_cover: lists.cannot_cover }),
    retry_returns_the_same: true,
    ...(tryInstead !== undefined && { try_instead: tryInstead }),
    note: ABSENCE_NOTE,
  };
}

/**
 * The absence in a tool result, or undefined. `coverage(absent(...), ...)` is both, so one layer of coverage is looked
 * through; the value itself stays as it came.
 */
export function readAbsence(value: unknown): Record<string, unknown> | undefined {
  if (isAbsence(value)) return value;
  const wrapped = readCoverageResult(value);
  return wrapped !== undefined && isAbsence(wrapped.result) ? wrapped.result : undefined;
}

/** Thrown through a procedure by an inner absence that the call site did not allow. It carries the absence verbatim. */
export class RunbookAbsenceSignal extends Error {
  override readonly name = 'RunbookAbsenceSignal';
  readonly tool: string;
  readonly absence: unknown;

  constructor(tool: string, absence: unknown) {
    super(`the tool '${tool}' answered that there is nothing`);
    this.tool = tool;
    this.absence = absence;
  }
}

/** The absence signal in an error's `cause` chain, or undefined. Cycles in the chain end the search. */
export function absenceSignalOf(error: unknown): RunbookAbsenceSignal | undefined {
  const seen = new Set<unknown>();
  let current = error;
  while (current !== null && typeof current === 'object' && !seen.has(current)) {
    if (current instanceof RunbookAbsenceSignal) return current;
    seen.add(current);
    current = (current as { cause?: unknown }).cause;
  }
  return undefined;
}

function isAbsence(value: unknown): value is Record<string, unknown> {
  return isPlainObject(value) && value.af_absent === true && Array.isArray(value.checked) && value.checked.length > 0;
}
