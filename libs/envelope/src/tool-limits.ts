/**
 * How often a tool may be called: declared beside its needs, held by whoever runs it, over everything that runs it.
 *
 * Invariant: a limit that could not be held is refused where it is declared, by the option's name and its value.
 */
import { isPlainObject } from './plain-object.ts';

/** A limit on calls: how many at once, how many a second. */
export interface CallLimit {
  /** Calls under way at once. */
  readonly concurrency?: number;
  /** Calls begun a second, evenly spaced and without bursts: 0.5 is one in two seconds. */
  readonly perSecond?: number;
}

/** The limits of a tool: over all of its calls, and over its calls for one target. */
export interface ToolLimits extends CallLimit {
  /** For each target by itself (a cluster, a host). A call that names no target has only the limits over all. */
  readonly perTarget?: CallLimit;
}

/** A limit that is refused. */
export interface LimitFault {
  readonly option: string;
  readonly expected: string;
  readonly got: unknown;
}

const MAX_CONCURRENCY = 1_000_000;
const [SLOWEST, FASTEST] = [0.001, 100_000];

/** What is wrong with declared limits, or undefined. */
export function findLimitsFault(limits: unknown, place = 'limits'): LimitFault | undefined {
  if (limits === undefined) return undefined;
  const inner = place !== 'limits';
  const shape = inner ? '{ concurrency?, perSecond? }' : '{ concurrency?, perSecond?, perTarget? }';
  if (!isPlainObject(limits)) return { option: place, expected: shape, got: limits };
  const given = Object.entries(limits).filter(([, value]) => value !== undefined);
  if (given.length === 0) return { option: place, expected: `${shape} with at least one of them`, got: limits };
  for (const [limit, value] of given) {
    const option = `${place}.${limit}`;
    if (limit === 'perTarget' && !inner) {
      const fault = findLimitsFault(value, option);
      if (fault !== undefined) return fault;
    } else if (limit === 'concurrency') {
      if (!Number.isSafeInteger(value) || (value as number) < 1 || (value as number) > MAX_CONCURRENCY) {
        return { option, expected: `a whole number from 1 to ${MAX_CONCURRENCY}`, got: value };
      }
    } else if (limit === 'perSecond') {
      if (!((value as number) >= SLOWEST && (value as number) <= FASTEST) || typeof value !== 'number') {
        return { option, expected: `a number from ${SLOWEST} to ${FASTEST}`, got: value };
      }
    } else {
      return { option, expected: `one of the limits in ${shape}`, got: value };
    }
  }
  return undefined;
}
