import type { DryRunNote, PlannedSubject } from '@muster/envelope';

/** How many targets an answer names. */
const TOP_TARGETS = 20;

/** Counts subjects by target. It holds one number a target, and plan holds more than that already: every key. */
export class TargetCount {
  readonly #counts = new Map<string, number>();
  #without = 0;

  add(page: readonly PlannedSubject[]): void {
    for (const { target } of page) {
      if (target === undefined) this.#without++;
      else this.#counts.set(target, (this.#counts.get(target) ?? 0) + 1);
    }
  }

  get distinct(): number {
    return this.#counts.size;
  }

  /** The counts with the largest targets by name; of equal ones, those that were planned first. */
  note(): NonNullable<DryRunNote['targets']> {
    const largest = [...this.#counts].sort(([, left], [, right]) => right - left).slice(0, TOP_TARGETS);
    return {
      distinct: this.distinct,
      without: this.#without,
      top: largest.map(([target, subjects]) => ({ target, subjects })),
    };
  }
}
