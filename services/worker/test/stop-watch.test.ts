/** How a worker gets to know that a run is to stop: by a hint at once, by looking otherwise. */
import { type Database, listenForHints, type RunRecord, requestCancel, stopRun } from '@muster/results';
import { expect, onTestFinished, test } from 'vitest';
import { StopWatch } from '../src/stop-watch.ts';
import { openBench, TENANT } from './worker-bench.ts';

const NEVER_MS = 3_600_000;

const aborted = (signal: AbortSignal) =>
  new Promise<unknown>((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    signal.addEventListener('abort', () => resolve(signal.reason), { once: true });
  });

function watching(db: Database, options: { intervalMs?: number; graceMs?: number } = {}): StopWatch {
  const stops = new StopWatch(db, { intervalMs: NEVER_MS, onError: () => {}, ...options });
  onTestFinished(() => stops.close());
  return stops;
}

async function hearing(db: Database, stops: StopWatch): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const listener = listenForHints(db, {
    onDue: () => {},
    onStop: (id) => (id === undefined ? resolve() : stops.hint(id)),
  });
  onTestFinished(() => listener.stop());
  await promise;
}

const cancel = ({ db }: { db: Database }, run: RunRecord) => requestCancel(db, { tenant: TENANT, runId: run.id });

test('a cancel and a stop of our own are heard of without looking, each for its run', async () => {
  const bench = await openBench();
  const stops = watching(bench.db);
  await hearing(bench.db, stops);
  const runs = await Promise.all([1, 2, 3].map(() => bench.accept('machine_check')));
  const [first, second, third] = runs.map((run) => stops.watch(run.id, null));
  await cancel(bench, runs[0]!);
  expect(await aborted(first!.signal)).toBe('cancelled');
  await stopRun(bench.db, { runId: runs[1]!.id, stopReason: 'deadline' });
  expect(await aborted(second!.signal)).toBe('deadline');
  expect([third!.signal.aborted, third!.reason(), second!.reason()]).toEqual([false, undefined, 'deadline']);
});

test('without hints the row is looked at again and again', async () => {
  const bench = await openBench();
  const stops = watching(bench.db, { intervalMs: 20 });
  const run = await bench.accept('machine_check');
  const watch = stops.watch(run.id, null);
  await cancel(bench, run);
  expect(await aborted(watch.signal)).toBe('cancelled');
});

test('a hint that came between the claim of a run and its watch is not lost', async () => {
  const bench = await openBench();
  const stops = watching(bench.db);
  const run = await bench.accept('machine_check');
  await cancel(bench, run);
  stops.hint(run.id);
  expect(await aborted(stops.watch(run.id, null).signal)).toBe('cancelled');
});

test('whoever was told has the time to come to an end, and then nobody waits any more', async () => {
  const bench = await openBench();
  const run = await bench.accept('machine_check');
  const patient = watching(bench.db).watch(run.id, 'cancelled');
  expect([patient.signal.aborted, patient.overSignal.aborted]).toEqual([true, false]);
  const impatient = watching(bench.db, { graceMs: 1 }).watch(run.id, 'cancelled');
  expect(await aborted(impatient.overSignal)).toBe('cancelled');
});
