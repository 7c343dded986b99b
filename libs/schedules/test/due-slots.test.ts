import { expect, test } from 'vitest';
import { dueSlots, nextSlot, shortestGap, slotsAfter, timingSchema } from '../src/index.ts';

const HOURLY = { id: 'a', timing: timingSchema.parse({ cron: '0 * * * *' }), jitterMs: 0 };
const MINUTELY = { id: 'a', timing: timingSchema.parse({ every_seconds: 60 }), jitterMs: 0 };
const at = (text: string) => new Date(`2026-11-30T${text}Z`);

test('what is due is given oldest first, up to the instant itself, with the one that follows', () => {
  const { folded, slots, next } = dueSlots(HOURLY, at('10:00:00'), { now: at('12:00:00'), lateBefore: at('12:00:00') });
  expect(folded).toBeUndefined();
  expect(slots.map(({ slot }) => slot)).toEqual([at('10:00:00'), at('11:00:00'), at('12:00:00')]);
  expect(next?.slot).toEqual(at('13:00:00'));
});

test('nothing is due before its time, and the next one is the first', () => {
  const backlog = dueSlots(HOURLY, at('13:00:00'), { now: at('12:59:59'), lateBefore: at('12:59:59') });
  expect(backlog).toEqual({ slots: [], next: { slot: at('13:00:00'), dueAt: at('13:00:00') } });
});

test('a slot whose jitter is not over waits, and those behind it with it', () => {
  const jittered = { ...HOURLY, jitterMs: 3_600_000 };
  const [first] = slotsAfter(jittered, at('12:00:00'), 1);
  const before = new Date(first!.dueAt.getTime() - 1);
  expect(dueSlots(jittered, first!.slot, { now: before, lateBefore: before }).slots).toEqual([]);
  const now = first!.dueAt;
  expect(dueSlots(jittered, first!.slot, { now, lateBefore: now })).toMatchObject({
    slots: [first],
    next: { slot: at('14:00:00') },
  });
});

test('slots that are too many are counted exactly, and every slot is in the count, a row or the rest', () => {
  const now = new Date('2026-12-20T00:00:30Z');
  let from: Date | undefined = new Date('2026-12-01T00:00:00Z');
  let counted = 0;
  while (from !== undefined && from <= now) {
    const { folded, slots, next } = dueSlots(MINUTELY, from, { now, lateBefore: now });
    expect(slots.length).toBeLessThanOrEqual(1000);
    if (folded !== undefined) {
      expect(folded.first.slot).toEqual(from);
      const span = (folded.last.slot.getTime() - folded.first.slot.getTime()) / 60_000 + 1;
      expect(folded.count).toBe(span);
      expect(folded.count).toBeLessThanOrEqual(10_000);
    }
    counted += (folded?.count ?? 0) + slots.length;
    from = next?.slot;
  }
  expect(counted).toBe(19 * 1440 + 1);
});

test('only what starts nothing is counted together', () => {
  const now = at('23:59:59');
  const { folded, slots } = dueSlots(MINUTELY, at('00:00:00'), { now, lateBefore: at('00:00:00') });
  expect(folded).toBeUndefined();
  expect(slots).toHaveLength(1000);
});

test('the shortest time between two slots is that over changes of clocks, too', () => {
  const daily = timingSchema.parse({ cron: '30 2 * * *', time_zone: 'Europe/Berlin' });
  expect(shortestGap(daily, new Date('2026-03-01T00:00:00Z'))).toBe(23.5 * 3_600_000);
  expect(shortestGap(MINUTELY.timing, at('00:00:00'))).toBe(60_000);
  expect(shortestGap(timingSchema.parse({ cron: '0 9,10 * * 1' }), at('00:00:00'))).toBe(3_600_000);
});

test('the next slot is behind an instant, not at it', () => {
  expect(nextSlot(HOURLY, at('12:00:00'))?.slot).toEqual(at('13:00:00'));
});
