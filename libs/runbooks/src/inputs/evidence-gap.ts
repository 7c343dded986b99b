/**
 * What keeps a subject from being judged before any rule is asked: it was expected and nothing tells of it, or what tells
 * of it is too old.
 *
 * Rule: evidence whose age cannot be told is not young. A time in the future is no age.
 */
import type { RunArgs, SubjectGap } from '@muster/envelope';
import { durationText, secondsSince } from './time-fact.ts';

/** A subject that the run's inventory names and no input tells of. */
export interface MissingSubject {
  readonly kind: 'missing';
  /** As the inventory names it. */
  readonly name: string;
}

/** The names of an inventory, crossed off as they are met. */
export class ExpectedSubjects {
  readonly #open: Set<string>;

  constructor(expected: readonly string[] | undefined) {
    this.#open = new Set(expected);
  }

  /** Crosses off each of the names that a subject goes by: its key, its identity, its target. */
  met(...names: readonly (string | undefined)[]): void {
    if (this.#open.size === 0) return;
    for (const name of names) if (name !== undefined) this.#open.delete(name);
  }

  /** What was not met, in the inventory's order. */
  *missing(): Generator<MissingSubject> {
    for (const name of this.#open) yield { kind: 'missing', name };
  }
}

/** The gap of a subject that was expected and did not come. */
export const MISSING_GAP: SubjectGap = Object.freeze({
  outcome: 'not_checked',
  code: 'expected_missing',
  reason: 'it was expected, and no input tells of it',
});

/**
 * The gap of a subject whose evidence is too old for this run, or undefined.
 *
 * @param observedAt when it was observed, in ms since the epoch; null when nobody told
 */
export function staleGap(observedAt: number | null | undefined, { input, now }: RunArgs): SubjectGap | undefined {
  const limit = input.max_evidence_age;
  if (typeof limit !== 'number') return undefined;
  const age = secondsSince(observedAt ?? null, Date.parse(now));
  if (age === undefined) {
    const why = observedAt === null || observedAt === undefined ? 'was not told' : 'lies in the future';
    return { outcome: 'not_checked', code: 'evidence_undated', reason: `when its evidence was taken ${why}` };
  }
  if (age <= limit) return undefined;
  const reason = `its evidence is ${durationText(age)} old, and at most ${durationText(limit)} is taken`;
  return { outcome: 'not_checked', code: 'evidence_too_old', reason };
}

/** An instant as a row's `observed_at` shows it. */
export function instantText(at: number | null | undefined): string | null {
  if (at === null || at === undefined) return null;
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}
