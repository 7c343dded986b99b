/**
 * When calls of a tool with a limited rate may begin: the generic cell rate algorithm without bursts, the decision alone.
 *
 * Invariants:
 * - two starts of one limit are never closer than its interval, however often and by whomever they are asked for;
 * - a start that counts for a tool and for its target is one instant that fits both;
 * - nothing is given further ahead than {@link AHEAD_MS}: a worker that dies takes no more of the rate with it.
 */

/** A limited rate: when the next call may begin, and how far apart calls are. In ms; changed by {@link reserveStarts}. */
export interface RateBook {
  nextAt: number;
  readonly intervalMs: number;
}

/** Starts that were given, and after how many ms it is worth asking for more. */
export interface ReservedStarts {
  readonly afterMs: readonly number[];
  readonly retryMs: number;
}

/** How far ahead starts are given, so that a worker need not ask for each. */
export const AHEAD_MS = 250;

/** Reserves up to `count` starts that fit the tool's rate and its target's, of which either may be absent. */
export function reserveStarts(
  overall: RateBook | undefined,
  perTarget: RateBook | undefined,
  count: number,
  now: number,
): ReservedStarts {
  const afterMs: number[] = [];
  while (afterMs.length < count) {
    const next = Math.max(now, overall?.nextAt ?? 0);
    const at = Math.max(next, perTarget?.nextAt ?? 0);
    // A tool's next start is not held for a target that is not ready for it: other targets may be.
    const aheadMs = overall !== undefined && at > next ? 0 : AHEAD_MS;
    if (at - now > aheadMs) return { afterMs, retryMs: at - now - aheadMs };
    for (const book of [overall, perTarget]) if (book !== undefined) book.nextAt = at + book.intervalMs;
    afterMs.push(at - now);
  }
  return { afterMs, retryMs: 0 };
}
