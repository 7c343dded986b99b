/**
 * When a schedule is due: a cron pattern in a time zone, or an interval.
 *
 * The daylight-saving rule, for cron patterns:
 * - a pattern that names a time of day (its minute and hour are lists of numbers) is due once on each day that it names.
 *   A time that the clock leaves out is due at the first instant after the gap; one that comes twice is due the first time;
 * - a pattern that goes round the clock (its minute or hour is `*`, or steps through it) follows real time: it is due at
 *   each instant whose wall clock fits, so it neither stops nor doubles up while the clock changes.
 * An interval counts real time and knows no zone.
 */
import { Cron } from 'croner';
import { closest } from 'fastest-levenshtein';
import { z } from 'zod';

const MIN_SECONDS = 60;
const MAX_SECONDS = 366 * 86_400;
const MAX_PATTERN_LENGTH = 256;
/** Five fields. Names of months and days, lists, ranges, steps, `L` and `#` are croner's. */
const FIVE_FIELDS = /^[\d*,/A-Za-z#?+-]+( +[\d*,/A-Za-z#?+-]+){4}$/;

const cronTiming = z
  .strictObject({
    cron: z.string().max(MAX_PATTERN_LENGTH).describe('Five fields: minute, hour, day of month, month, day of week.'),
    time_zone: z.string().min(1).max(64).default('UTC').describe('An IANA time zone, such as Europe/Berlin.'),
  })
  .superRefine((timing, context) => {
    if (!isTimeZone(timing.time_zone)) {
      const message = `an IANA time zone, such as ${nearestZone(timing.time_zone)}`;
      context.addIssue({ code: 'custom', path: ['time_zone'], message });
      return;
    }
    const fault = patternFault(timing.cron);
    if (fault !== undefined) context.addIssue({ code: 'custom', path: ['cron'], message: fault });
  });

const intervalTiming = z.strictObject({
  every_seconds: z.number().int().min(MIN_SECONDS).max(MAX_SECONDS).describe('Real seconds between two slots.'),
  anchor: z.iso
    .datetime({ offset: true })
    .default('1970-01-01T00:00:00Z')
    .describe('An instant that is a slot; the others are whole intervals before and after it.'),
});

/** A timing as it is written: `{ cron, time_zone }` or `{ every_seconds, anchor }`. */
export const timingSchema = z.union([cronTiming, intervalTiming]).meta({ id: 'Timing' });

/** When a schedule is due. */
export type Timing = z.infer<typeof timingSchema>;

/** A timing in a person's words: the pattern and its zone, or the interval. */
export function describeTiming(timing: Timing): string {
  if ('cron' in timing) return `${timing.cron} (${timing.time_zone})`;
  const { every_seconds: seconds } = timing;
  const [size, unit] =
    seconds % 86_400 === 0
      ? [86_400, 'd']
      : seconds % 3600 === 0
        ? [3600, 'h']
        : seconds % 60 === 0
          ? [60, 'min']
          : [1, 's'];
  return `every ${seconds / size} ${unit}`;
}

/** The pattern as croner's object; nothing is timed by it. */
export function cronOf(timing: z.infer<typeof cronTiming>): Cron {
  return new Cron(timing.cron.trim(), { timezone: timing.time_zone, paused: true, mode: '5-part' });
}

function patternFault(pattern: string): string | undefined {
  if (!FIVE_FIELDS.test(pattern.trim())) {
    return 'five fields: minute, hour, day of month, month, day of week, such as 30 2 * * 1-5';
  }
  try {
    const next = cronOf({ cron: pattern, time_zone: 'UTC' }).nextRun(new Date(0));
    return next === null ? 'a pattern that some day fits' : undefined;
  } catch {
    return 'numbers within their fields: minutes 0-59, hours 0-23, days 1-31, months 1-12, days of the week 0-7';
  }
}

/** The zone that is spelled most alike; old names are valid too, and not offered. */
function nearestZone(name: string): string {
  return closest(name.slice(0, 64), Intl.supportedValuesOf('timeZone'));
}

function isTimeZone(name: string): boolean {
  // Intl takes bare offsets, too; they have no daylight-saving rule and are no IANA zones.
  if (/^[+-]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
