/** The time limit of a run stands still while a call waits (see `chart-clock.ts`). */
import { expect, test } from 'vitest';
import { ChartClock } from '../src/chart-clock.ts';
import { FakeTimers } from './fake-timers.ts';

/** A clock over a limit of 100 ms, and the instants at which it said that the time was over. */
function clockOf100() {
  const timers = new FakeTimers();
  const clock = new ChartClock();
  const over: number[] = [];
  const from = timers.now();
  clock.start(timers, 100, () => over.push(timers.now() - from));
  return { timers, clock, over };
}

test('no clock is read where nothing waits', async () => {
  const timers = new FakeTimers();
  const reads: string[] = [];
  const clock = new ChartClock();
  const over: string[] = [];
  const read = {
    setTimeout: (callback: () => void, ms: number) => timers.setTimeout(callback, ms),
    clearTimeout: (handle: unknown) => timers.clearTimeout(handle),
    now: () => reads.push('read'),
  };
  clock.start(read, 100, () => over.push('over'));
  await timers.advance(100);
  expect([over, reads]).toEqual([['over'], []]);
});

test('what was waited is added behind the limit, before and over its end, and once for waits at the same time', async () => {
  const { timers, clock, over } = clockOf100();
  await timers.advance(40);
  const [first, second] = [clock.hold(), clock.hold()];
  await timers.advance(10);
  first();
  first();
  await timers.advance(10);
  second();
  await timers.advance(30);
  // 70 of the limit are over, and 20 were waited; now the timer runs out while something waits.
  const third = clock.hold();
  await timers.advance(50);
  third();
  await timers.advance(29);
  expect(over).toEqual([]);
  await timers.advance(1);
  expect(over).toEqual([170]);
});

test('a wait that a former run left behind holds nobody up', async () => {
  const { timers, clock, over } = clockOf100();
  const left = clock.hold();
  clock.stop();
  const from = timers.now();
  clock.start(timers, 100, () => over.push(timers.now() - from));
  left();
  await timers.advance(100);
  expect(over).toEqual([100]);
});
