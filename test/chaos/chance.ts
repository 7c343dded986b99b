/**
 * Everything that a chaos test leaves to chance is drawn from its seed: the same seed and the same test make the same
 * choices. What the machine does with them (which process is faster) is not ours to choose.
 */

export interface Chance {
  /** A whole number from `least` to `most`, both possible. */
  int(least: number, most: number): number;
  pick<T>(from: readonly T[]): T;
  /** All of them, in another order. */
  shuffle<T>(list: readonly T[]): T[];
}

/** The chance of one test under one seed. */
export function chanceOf(seed: number, test: string): Chance {
  let state = seed >>> 0;
  for (const character of test) state = Math.imul(state ^ character.codePointAt(0)!, 0x9e3779b1) >>> 0;
  // Mulberry32: small, and good enough to choose by.
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const int = (least: number, most: number) => least + Math.floor(next() * (most - least + 1));
  return {
    int,
    pick: (from) => from[int(0, from.length - 1)]!,
    shuffle(list) {
      const order = [...list];
      for (let at = order.length - 1; at > 0; at--) {
        const other = int(0, at);
        [order[at], order[other]] = [order[other]!, order[at]!];
      }
      return order;
    },
  };
}
