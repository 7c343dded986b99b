/** The daylight-saving rule, by instants that were worked out by hand from the zones' own changes. */

import { describe, expect, test } from 'vitest';
import { slotsBetween, timingSchema } from '../src/index.ts';
import { fc, test as property } from './property.ts';

function slots(cron: string, zone: string, after: string, limit: number): string[] {
  const timing = timingSchema.parse({ cron, time_zone: zone });
  return slotsBetween(timing, { after: new Date(after), limit }).map((slot) =>
    slot.toISOString().replace(':00.000Z', 'Z'),
  );
}

describe('a time of day that the clock leaves out is due at the first instant after the gap', () => {
  test.each([
    ['30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', ['2026-03-29T01:00Z', '2026-03-30T00:30Z']],
    ['30 2 * * *', 'America/New_York', '2026-03-07T12:00:00Z', ['2026-03-08T07:00Z', '2026-03-09T06:30Z']],
    // Midnight itself is left out.
    ['0 0 * * *', 'Africa/Cairo', '2026-04-23T12:00:00Z', ['2026-04-23T22:00Z', '2026-04-24T21:00Z']],
    // Half an hour is left out.
    ['15 2 * * *', 'Australia/Lord_Howe', '2026-10-02T20:00:00Z', ['2026-10-03T15:30Z', '2026-10-04T15:15Z']],
  ])('%s in %s', (cron, zone, after, expected) => {
    expect(slots(cron, zone, after, expected.length)).toEqual(expected);
  });
});

describe('a time of day that comes twice is due the first time', () => {
  test.each([
    ['30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', ['2026-10-25T00:30Z', '2026-10-26T01:30Z']],
    ['30 1 * * *', 'America/New_York', '2026-10-31T12:00:00Z', ['2026-11-01T05:30Z', '2026-11-02T06:30Z']],
    ['45 1 * * *', 'Australia/Lord_Howe', '2026-04-04T00:00:00Z', ['2026-04-04T14:45Z', '2026-04-05T15:15Z']],
  ])('%s in %s', (cron, zone, after, expected) => {
    expect(slots(cron, zone, after, expected.length)).toEqual(expected);
  });

  test('asked from between its two times, it is the next day', () => {
    expect(slots('30 2 * * *', 'Europe/Berlin', '2026-10-25T00:45:00Z', 1)).toEqual(['2026-10-26T01:30Z']);
  });
});

describe('a pattern that goes round the clock follows real time through both changes', () => {
  test.each([
    ['2026-03-29T00:30:00Z', 6, '2026-03-29T00:45Z'],
    ['2026-10-24T23:30:00Z', 12, '2026-10-24T23:45Z'],
  ])('every quarter of an hour in Berlin from %s', (after, count, first) => {
    const got = slots('*/15 * * * *', 'Europe/Berlin', after, count);
    const expected = Array.from({ length: count }, (_, index) =>
      new Date(Date.parse(first) + index * 900_000).toISOString().replace(':00.000Z', 'Z'),
    );
    expect(got).toEqual(expected);
  });
});

describe('days that not every month has', () => {
  test('the 29th of February is due in leap years', () => {
    expect(slots('0 0 29 2 *', 'UTC', '2026-01-01T00:00:00Z', 2)).toEqual(['2028-02-29T00:00Z', '2032-02-29T00:00Z']);
  });

  test('the 31st is due in the months that have one', () => {
    const got = slots('0 12 31 * *', 'Europe/Paris', '2026-03-01T00:00:00Z', 3);
    expect(got).toEqual(['2026-03-31T10:00Z', '2026-05-31T10:00Z', '2026-07-31T10:00Z']);
  });

  test('the last day of each month', () => {
    const got = slots('0 0 L * *', 'UTC', '2028-01-15T00:00:00Z', 3);
    expect(got).toEqual(['2028-01-31T00:00Z', '2028-02-29T00:00Z', '2028-03-31T00:00Z']);
  });
});

describe('an interval counts real time', () => {
  test('from its anchor, before and after it', () => {
    const timing = timingSchema.parse({ every_seconds: 3600, anchor: '2026-10-25T00:20:00Z' });
    const got = slotsBetween(timing, { after: new Date('2026-10-24T23:20:00Z'), limit: 3 });
    expect(got.map((slot) => slot.toISOString())).toEqual([
      '2026-10-25T00:20:00.000Z',
      '2026-10-25T01:20:00.000Z',
      '2026-10-25T02:20:00.000Z',
    ]);
  });
});

test('an end may be a slot itself, and nothing comes after it', () => {
  const timing = timingSchema.parse({ cron: '0 * * * *' });
  const got = slotsBetween(timing, {
    after: new Date('2026-11-30T00:00:00Z'),
    until: new Date('2026-11-30T02:00:00Z'),
    limit: 10,
  });
  expect(got.map((slot) => slot.toISOString())).toEqual(['2026-11-30T01:00:00.000Z', '2026-11-30T02:00:00.000Z']);
});

describe('slots rise, and are the same wherever one begins to ask', () => {
  const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Cairo', 'America/St_Johns'];
  const patterns = ['30 2 * * *', '*/20 * * * *', '0 1,2,3 * * *', '15 0 * * 0', '0 */2 * * *', '59 1 * 3,10,11 *'];
  const year = { min: new Date('2026-01-01T00:00:00Z'), max: new Date('2026-12-31T00:00:00Z'), noInvalidDate: true };
  property(
    'over a year of six zones',
    fc.constantFrom(...zones),
    fc.constantFrom(...patterns),
    fc.date(year),
    (zone, cron, after) => {
      const timing = timingSchema.parse({ cron, time_zone: zone });
      const got = slotsBetween(timing, { after, limit: 12 });
      for (const [index, slot] of got.entries()) {
        const before = got[index - 1] ?? after;
        expect(slot > before).toBe(true);
        // From just before a slot, and from the slot before, it is the same next one.
        expect(slotsBetween(timing, { after: new Date(slot.getTime() - 1), limit: 1 })).toEqual([slot]);
      }
    },
  );
});
