import { describe, expect, test } from 'vitest';
import { describeTiming, dueInstant, timingSchema } from '../src/index.ts';

describe('a timing that is never due, or not what it seems, is refused with what was expected', () => {
  test.each([
    [{ cron: '* * * * * *' }, 'five fields'],
    [{ cron: '61 * * * *' }, 'numbers within their fields'],
    [{ cron: '0 0 30 2 *' }, 'some day'],
    [{ cron: '@daily' }, 'five fields'],
    [{ cron: '0 0 * * *', time_zone: 'Europe/Atlantis' }, 'an IANA time zone'],
    [{ cron: '0 0 * * *', time_zone: '+02:00' }, 'an IANA time zone'],
    [{ every_seconds: 10 }, '60'],
    [{ every_seconds: 3600, anchor: 'noon' }, 'ISO'],
    [{ cron: '0 0 * * *', every_seconds: 60 }, ''],
    [{}, ''],
  ])('%j', (timing, expected) => {
    const parsed = timingSchema.safeParse(timing);
    expect(parsed.success).toBe(false);
    expect(JSON.stringify(parsed.error?.issues)).toContain(expected);
  });
});

test.each([
  [{ cron: '30 2 * * 1-5', time_zone: 'Europe/Berlin' }, '30 2 * * 1-5 (Europe/Berlin)'],
  [{ every_seconds: 172_800 }, 'every 2 d'],
  [{ every_seconds: 3600 }, 'every 1 h'],
  [{ every_seconds: 900 }, 'every 15 min'],
  [{ every_seconds: 61 }, 'every 61 s'],
])('%j is told as %s', (timing, words) => {
  expect(describeTiming(timingSchema.parse(timing))).toBe(words);
});

describe('jitter', () => {
  const slot = new Date('2026-11-30T02:30:00Z');
  test('is the same for everybody who asks', () => {
    expect(dueInstant('a', slot, 60_000)).toEqual(dueInstant('a', slot, 60_000));
  });

  test('stays within its bound, and puts schedules of one slot apart', () => {
    const due = Array.from({ length: 200 }, (_, index) => dueInstant(`schedule-${index}`, slot, 60_000).getTime());
    expect(Math.min(...due)).toBeGreaterThanOrEqual(slot.getTime());
    expect(Math.max(...due)).toBeLessThan(slot.getTime() + 60_000);
    expect(new Set(due).size).toBeGreaterThan(150);
  });

  test('of nothing is the slot itself', () => {
    expect(dueInstant('a', slot, 0)).toEqual(slot);
  });
});
