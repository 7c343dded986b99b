import { describe, expect, test } from 'vitest';
import { decideTick, type TickSituation } from '../src/index.ts';

const due = new Date('2026-11-30T02:30:00Z');
const onTime: TickSituation = {
  dueAt: due,
  now: due,
  overlap: 'skip',
  catchUpMs: 600_000,
  laterIsDue: false,
  openRuns: 0,
  oneWaits: false,
};

test.each(['skip', 'queue_one', 'cancel_previous', 'allow'] as const)('with nothing open, %s starts', (overlap) => {
  expect(decideTick({ ...onTime, overlap })).toEqual({ kind: 'start' });
});

describe('with a run that is not over', () => {
  const busy = { ...onTime, openRuns: 1 };
  test('skip leaves the slot out, with the reason', () => {
    expect(decideTick(busy)).toMatchObject({ kind: 'skipped', code: 'still_running' });
  });

  test('queue_one waits, and a second one does not', () => {
    const first = decideTick({ ...busy, overlap: 'queue_one' });
    expect(first).toEqual({ kind: 'queue', cancelsOpenRuns: false, replacesWaiting: false });
    const second = decideTick({ ...busy, overlap: 'queue_one', oneWaits: true });
    expect(second).toMatchObject({ kind: 'skipped', code: 'one_waits' });
  });

  test('cancel_previous asks for its end, and takes the place of the one that waits', () => {
    const decision = decideTick({ ...busy, overlap: 'cancel_previous', oneWaits: true });
    expect(decision).toEqual({ kind: 'queue', cancelsOpenRuns: true, replacesWaiting: true });
  });

  test('allow starts beside it', () => {
    expect(decideTick({ ...busy, overlap: 'allow', openRuns: 7 })).toEqual({ kind: 'start' });
  });
});

describe('found late', () => {
  const minutesLate = (minutes: number) => new Date(due.getTime() + minutes * 60_000);
  test('at the edge of the catch-up window it starts, and behind it it is missed', () => {
    expect(decideTick({ ...onTime, now: minutesLate(10) })).toEqual({ kind: 'start' });
    expect(decideTick({ ...onTime, now: new Date(minutesLate(10).getTime() + 1) })).toMatchObject({
      kind: 'missed',
      code: 'too_late',
    });
  });

  test.each(['skip', 'queue_one', 'cancel_previous'] as const)(
    '%s runs the newest of several slots alone',
    (overlap) => {
      const decision = decideTick({ ...onTime, overlap, now: minutesLate(9), laterIsDue: true });
      expect(decision).toMatchObject({ kind: 'missed', code: 'later_is_due' });
    },
  );

  test('allow runs each of them', () => {
    expect(decideTick({ ...onTime, overlap: 'allow', now: minutesLate(9), laterIsDue: true })).toEqual({
      kind: 'start',
    });
  });
});
