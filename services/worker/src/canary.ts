/**
 * The canary: whole targets that are assessed before all others.
 *
 * Invariant: who belongs to it follows from the run and the target alone, but for the first target of the plan, which
 * always does: a share of a handful of targets would else often be none.
 */
import { hash } from 'node:crypto';
import type { PlannedSubject } from '@muster/envelope';
import type { PlannedChunk } from '@muster/results';
import type { ChunkBuffer } from './chunk-buffer.ts';

type Placed = Pick<PlannedSubject, 'key' | 'target'>;

/** Waves are sent one after the other, the smallest first. */
const CANARY_WAVE = 0;
const REST_WAVE = 1;
const HASH_DIGITS = 12;

/** Says which subjects belong to the canary. Ask in the order of the plan. */
export function chooseCanary(runId: string, percent: number): (subject: Placed) => boolean {
  let first: string | undefined;
  return ({ key, target }) => {
    // A subject without a target is one by itself, and its key may be the name of somebody else's target.
    const name = target === undefined ? `subject ${key}` : `target ${target}`;
    first ??= name;
    return name === first || shareOf(`${runId} ${name}`) * 100 < percent;
  };
}

/** Sorts a plan's subjects into chunks of the canary and chunks of the rest. It holds at most one open chunk of each. */
export class CanaryBuffer {
  readonly #isCanary: (subject: Placed) => boolean;
  readonly #canary: ChunkBuffer;
  readonly #rest: ChunkBuffer;

  constructor(isCanary: (subject: Placed) => boolean, openBuffer: (wave: number) => ChunkBuffer) {
    this.#isCanary = isCanary;
    this.#canary = openBuffer(CANARY_WAVE);
    this.#rest = openBuffer(REST_WAVE);
  }

  add(page: readonly PlannedSubject[]): PlannedChunk[] {
    return page.flatMap((subject) => (this.#isCanary(subject) ? this.#canary : this.#rest).add([subject]));
  }

  flush(): PlannedChunk[] {
    return [...this.#canary.flush(), ...this.#rest.flush()];
  }
}

/** A number from 0 up to 1 that looks random and is always the same. */
function shareOf(text: string): number {
  return Number.parseInt(hash('sha256', text).slice(0, HASH_DIGITS), 16) / 16 ** HASH_DIGITS;
}
