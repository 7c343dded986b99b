/**
 * A time as it stands in a pod. Rule: a time without a zone, in the future or at the epoch is a stated doubt, not an age.
 */

/** Milliseconds since the epoch, or null with the reason in `doubt`. A field that is not there is null without doubt. */
export interface TimeFact {
  readonly at: number | null;
  readonly doubt?: 'epoch' | 'no zone' | 'unreadable';
}

/** Kubernetes is not older than this; a time before it is a zero value that somebody rendered. */
export const EARLIEST_TIME = Date.UTC(2014, 5, 1);

/** Clocks of two machines may differ by this much; a time that is further ahead is in the future. */
export const CLOCK_SKEW_SECONDS = 300;

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.\d{1,12})?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)?$/;

/** Reads an RFC 3339 time. Go's zero time and null mean "not set". */
export function readTime(value: unknown): TimeFact {
  if (value === undefined || value === null || value === '') return { at: null };
  if (typeof value !== 'string') return { at: null, doubt: 'unreadable' };
  const parts = RFC3339.exec(value);
  if (parts === null) return { at: null, doubt: 'unreadable' };
  const [, year, month, day, , , , zone] = parts;
  if (year === '0001' || year === '0000') return { at: null };
  if (zone === undefined) return { at: null, doubt: 'no zone' };
  const at = Date.parse(value.replace(' ', 'T').toUpperCase());
  if (Number.isNaN(at) || !isCalendarDay(Number(year), Number(month), Number(day)))
    return { at: null, doubt: 'unreadable' };
  return at < EARLIEST_TIME ? { at: null, doubt: 'epoch' } : { at };
}

/** Whole seconds from a time to `now`: never negative within the skew, undefined when unset or in the future. */
export function secondsSince(at: number | null, now: number): number | undefined {
  if (at === null) return undefined;
  const seconds = Math.floor((now - at) / 1000);
  if (seconds < -CLOCK_SKEW_SECONDS) return undefined;
  return Math.max(0, seconds);
}

/** A duration as a person reads it: the two largest units. */
export function durationText(seconds: number): string {
  const units: readonly (readonly [number, string])[] = [
    [86_400, 'd'],
    [3600, 'h'],
    [60, 'm'],
    [1, 's'],
  ];
  const at = units.findIndex(([size]) => seconds >= size);
  if (at === -1) return '0s';
  const [size, unit] = units[at] as readonly [number, string];
  const next = units[at + 1];
  const rest = next === undefined ? 0 : Math.floor((seconds % size) / next[0]);
  return `${Math.floor(seconds / size)}${unit}${rest > 0 && next !== undefined ? ` ${rest}${next[1]}` : ''}`;
}

function isCalendarDay(year: number, month: number, day: number): boolean {
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}
