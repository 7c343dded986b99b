/** A subject that breaks its thread costs itself alone (see the head of `chart-threads.ts`). */
import { fileURLToPath } from 'node:url';
import { readPacked } from '@muster/results/packed-subjects';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ChartThreads } from '../src/index.ts';
import type { Turn } from '../src/threads/chart-runner.ts';
import type { TurnCover } from '../src/threads/turn-cover.ts';
import type { HostileSubject } from './hostile-runbooks.ts';

const data = { runbooksModule: fileURLToPath(new URL('./hostile-runbooks.ts', import.meta.url)), buildId: undefined };
const threads = new ChartThreads({ count: 1, heapMb: 64, data, log: pino({ level: 'silent' }) });

beforeAll(() => threads.start());
afterAll(() => threads.close());

function turn(acts: readonly HostileSubject['does'][], over: Partial<Turn> & { runbook?: string } = {}): Turn {
  const { runbook = 'hostile_computing', ...rest } = over;
  const never = new AbortController().signal;
  return {
    definitionDigest: threads.definitions.get(runbook) as string,
    runId: 'run',
    input: {},
    now: '2026-01-01T00:00:00.000Z',
    subjects: {
      firstOrdinal: 0,
      names: acts.map((_, index) => [`subject-${index}`, null, null]),
      items: Buffer.from(JSON.stringify(acts.map((does, index) => ({ name: `subject-${index}`, does })))),
    },
    count: acts.length,
    sliceMs: 60_000,
    waits: runbook === 'hostile_waiting',
    // Patient where nothing loops: on a busy machine a heap fills slowly.
    subjectTimeoutMs: acts.includes('loop') ? 500 : 60_000,
    stop: { signal: never, reason: () => undefined },
    stopping: never,
    ...rest,
  };
}

async function ends(acts: readonly HostileSubject['does'][], runbook?: string): Promise<string[]> {
  return endsOf(await threads.take(turn(acts, runbook === undefined ? {} : { runbook })));
}

/** The verdict or reason code of each subject. */
function endsOf({ subjects }: TurnCover): string[] {
  const verdicts = readPacked(subjects, 'verdict');
  return readPacked(subjects, 'reason_code').map((code, index) => verdicts[index] ?? code ?? 'nothing');
}

describe.each(['hostile_computing', 'hostile_waiting'])('%s: one subject costs itself alone, by name', (runbook) => {
  test.each([
    ['an endless loop', 'loop', 'timeout'],
    ['an exhausted heap', 'fill_heap', 'out_of_memory'],
    ['a process.exit', 'exit', 'process_exit'],
    ['an error that nobody awaits', 'throw_late', 'uncaught_error'],
    ['a throw', 'throw', 'subject_failed'],
  ] as const)('%s', async (_what, does, reasonCode) => {
    const acts = ['answer', 'answer', does, 'answer', 'wait', 'answer'] as const;
    expect(await ends(acts, runbook)).toEqual(['fine', 'fine', reasonCode, 'fine', 'odd', 'fine']);
  });

  test('several of them, side by side and at both ends', async () => {
    expect(await ends(['exit', 'answer', 'exit', 'throw_late', 'answer'], runbook)).toEqual([
      'process_exit',
      'fine',
      'process_exit',
      'uncaught_error',
      'fine',
    ]);
  });
});

test('what a dead thread had handed over stays, and totals count each subject once', async () => {
  const acts = [...Array.from({ length: 1200 }, () => 'answer' as const), 'exit' as const, 'answer' as const];
  const cover = await threads.take(turn(acts));
  expect(cover.subjects.counts).toMatchObject({ ok: 1201, notChecked: 1 });
  expect(cover.failed).toBe(1);
  expect(endsOf(cover)[1200]).toBe('process_exit');
  expect(cover.totals.walk.steps).toBe(1201 * 3);
  const lines = new TextDecoder().decode(cover.walk).trimEnd().split('\n');
  expect(lines.filter((line) => JSON.parse(line).type === 'stage')).toHaveLength(1201 * 3);
});

test('a turn of computing charts ends with its slice, and covers the first subjects without a gap', async () => {
  const acts = Array.from({ length: 50 }, () => 'wait' as const);
  const covered = endsOf(await threads.take(turn(acts, { sliceMs: 100 })));
  expect(covered.length).toBeGreaterThan(0);
  expect(covered.length).toBeLessThan(50);
  expect(new Set(covered)).toEqual(new Set(['odd']));
});

test('a worker that stops gets what was covered, and the rest stays open', async () => {
  const stopping = new AbortController();
  const taking = threads.take(
    turn(
      Array.from({ length: 400 }, () => 'wait' as const),
      { stopping: stopping.signal },
    ),
  );
  setImmediate(() => stopping.abort());
  expect((await taking).subjects.count).toBeLessThan(400);
});

test('a run that is to stop marks what was not assessed with its reason', async () => {
  const stop = new AbortController();
  stop.abort('cancelled');
  const cover = await threads.take(
    turn(['answer', 'answer'], { stop: { signal: stop.signal, reason: () => 'cancelled' } }),
  );
  expect(endsOf(cover)).toEqual(['cancelled', 'cancelled']);
});

test('turns queue for the one thread, and each gets its own answers', async () => {
  const all = await Promise.all([ends(['answer', 'exit']), ends(['answer', 'answer']), ends(['loop'])]);
  expect(all).toEqual([['fine', 'process_exit'], ['fine', 'fine'], ['timeout']]);
});

test('turns that share a thread: what is blamed is what ended it, and nothing of the other turn', async () => {
  const waiting = async (acts: readonly HostileSubject['does'][]) =>
    endsOf(await threads.take(turn(acts, { runbook: 'hostile_waiting', subjectTimeoutMs: 500 })));
  const all = await Promise.all([
    waiting(['answer', 'loop', 'answer']),
    waiting(['wait']),
    waiting(['exit', 'throw_late']),
    waiting(['wait', 'wait']),
  ]);
  expect(all).toEqual([['fine', 'timeout', 'fine'], ['odd'], ['process_exit', 'uncaught_error'], ['odd', 'odd']]);
});
