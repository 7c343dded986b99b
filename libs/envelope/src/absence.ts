/**
 * The declared "nothing found": a fact about the world that ends a run and is its answer, verbatim.
 *
 * Invariant: nothing of a request is put into the note; a model reads it.
 */
import { isAbsence } from './absence-shape.ts';
import type { CoverageEntry, CoverageInput } from './coverage.ts';
import { COVERAGE_OPTIONS, coverageLists, readCoverageResult, readOptions, refuseUnknown } from './coverage.ts';

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
  /** What would be worth trying instead. A blank one is none. */
  readonly tryInstead?: string;
}

/** The static sentence on every absence. */
export const ABSENCE_NOTE =
  'Nothing was found in the places listed under `checked`. This is an answer, not an error: asking again the same way gives the same. It says nothing about places that are not listed.';

const ABSENCE_KEYS = ['what', ...COVERAGE_OPTIONS, 'tryInstead'];

/**
 * Declares that nothing was found.
 *
 * @throws TypeError when `what` is empty or `checked` has no entry, since an absence that looked nowhere proves nothing;
 * when an entry is malformed; and for a key that is none of its options, which could be a limit under another spelling.
 */
export function absent(options: AbsenceOptions): AbsenceResult {
  const what: unknown = options?.what;
  if (typeof what !== 'string' || what.trim() === '') {
    throw new TypeError('absent: what must be a non-empty string that says what was looked for');
  }
  refuseUnknown('absent', 'option', options, ABSENCE_KEYS);
  const { checked, notChecked, cannotCover, tryInstead } = options;
  if (!Array.isArray(checked) || checked.length === 0) {
    throw new TypeError('absent: checked must have at least one entry; an absence that looked nowhere proves nothing');
  }
  const ledger = readOptions('absent', { checked, notChecked, cannotCover });
  // Refusing a bad hint here would turn "nothing found" into an error, inside the tool that tells it.
  const hint = typeof tryInstead === 'string' && tryInstead.trim() !== '' ? tryInstead.trim() : undefined;
  return {
    af_absent: true,
    outcome: 'nothing_found',
    looked_for: what.trim(),
    ...coverageLists(ledger),
    checked: ledger.checked,
    retry_returns_the_same: true,
    ...(hint !== undefined && { try_instead: hint }),
    note: ABSENCE_NOTE,
  };
}

/**
 * The absence in a tool result, or undefined. `coverage(absent(...), ...)` is both, so one layer of coverage is looked
 * through; the value itself stays as it came.
 */
export function readAbsence(value: unknown): Record<string, unknown> | undefined {
  if (isAbsence(value)) return value;
  const reading = readCoverageResult(value);
  return reading?.status === 'absent' ? (reading.result as Record<string, unknown>) : undefined;
}

/** Thrown through a procedure by an inner absence that the call site did not allow. It carries the absence verbatim. */
export class RunbookAbsenceSignal extends Error {
  override readonly name = 'RunbookAbsenceSignal';
  /** By this the signal is known where two copies of this package meet. */
  readonly af_runbook_absence = true;
  readonly tool: string;
  readonly absence: unknown;

  constructor(absence: unknown, tool: string) {
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
    if ((current as { af_runbook_absence?: unknown }).af_runbook_absence === true) {
      return current as RunbookAbsenceSignal;
    }
    seen.add(current);
    current = (current as { cause?: unknown }).cause;
  }
  return undefined;
}
