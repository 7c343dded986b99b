/**
 * Times as senders write them. Monitoring writes Go's zero time for "not yet", and clocks go wrong: a time without a zone,
 * in the future, at the epoch or at zero is a doubt, and no age is reckoned from it.
 */
import type { InstantDoubt } from './delivery.ts';

const RFC3339 = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:[.,](\d{1,3})\d*)?(Z|z|[+-]\d\d:?\d\d)?$/;
/** A sender's clock may go a little ahead. */
const AHEAD_MS = 5 * 60_000;
/** What stands this near the epoch was never set. */
const NEAR_EPOCH_MS = 86_400_000;

export interface InstantReading {
  /** RFC 3339, UTC, milliseconds. */
  readonly at?: string;
  readonly doubt?: InstantDoubt;
}

/** Reads a time; nothing for what was left out. `mayBeAhead` for a time that is planned, such as an end. */
export function readInstant(value: unknown, now: Date, mayBeAhead = false): InstantReading {
  if (value === undefined || value === null || value === '') return {};
  const match = typeof value === 'string' ? RFC3339.exec(value.trim()) : null;
  if (match === null) return { doubt: 'not_a_time' };
  const [, date, clock, fraction, zone] = match;
  if (date === '0001-01-01' || date === '0000-12-31') return { doubt: 'zero_time' };
  if (!dayExists(date!)) return { doubt: 'not_a_time' };
  if (zone === undefined) return { doubt: 'no_zone' };
  const offset = zone.length === 5 ? `${zone.slice(0, 3)}:${zone.slice(3)}` : zone.toUpperCase();
  const ms = Date.parse(`${date}T${clock}.${(fraction ?? '').padEnd(3, '0')}${offset}`);
  if (Number.isNaN(ms)) return { doubt: 'not_a_time' };
  if (Math.abs(ms) < NEAR_EPOCH_MS) return { doubt: 'epoch' };
  if (!mayBeAhead && ms > now.getTime() + AHEAD_MS) return { doubt: 'in_the_future' };
  return { at: new Date(ms).toISOString() };
}

/** The parser takes 30 February for 2 March. */
function dayExists(date: string): boolean {
  const midnight = new Date(`${date}T00:00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(date);
}
