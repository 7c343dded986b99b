/**
 * A worker that stops in good order: what it has assessed is settled, the rest goes to another at once, nothing counts as
 * a failure, and nobody does the same subject twice at the same time.
 */
import { severableLink, testQueueBackends, waitFor } from '@muster/testkit';
import { describe, expect, test } from 'vitest';
import { benchTools, type Hooks, machineNames } from './bench-runbooks.ts';
import { openBench, signal, untilAborted } from './worker-bench.ts';

/** What a dispatcher holds while it takes what is due. */
const DISPATCH_LOCK = 7_301_152;

const backends = await testQueueBackends();

/** A hook that waits to be told to stop the first time, and does its work from then on. */
function heldOnce<T>(work: T) {
  const begun = signal();
  let turns = 0;
  return {
    begun: begun.given,
    get turns() {
      return turns;
    },
    call: (aborted: AbortSignal | undefined) => {
      turns++;
      if (turns > 1) return work;
      begun.give();
      return untilAborted(aborted);
    },
  };
}

describe.each(backends)('on $name', (queue) => {
  test('stopped in the middle of a chunk, it settles the first part, and another worker does the rest', async () => {
    const held = heldOnce(10);
    const probed: string[] = [];
    const hooks: Hooks = {
      survey: () => machineNames(5),
      probe: (machine, aborted) => {
        probed.push(machine);
        return machine === 'machine-003' ? held.call(aborted) : 10;
      },
    };
    const bench = await openBench({ queue, tools: benchTools(hooks) });
    const run = await bench.accept('machine_check');
    const first = await bench.work();
    await held.begun;
    await first.stop(5000);
    expect(await bench.chunks(run)).toMatchObject([
      { state: 'settled', size: 3, starts: 1 },
      { state: 'open', size: 2, starts: 0 },
    ]);
    await bench.work();
    expect(await bench.ended(run)).toMatchObject({ status: 'completed' });
    expect((await bench.rows(run)).map((row) => row.verdict)).toEqual(Array(5).fill('fine'));
    expect((await bench.chunks(run)).map((chunk) => chunk.starts)).toEqual([1, 1]);
    expect(probed).toEqual(['machine-000', 'machine-001', 'machine-002', 'machine-003', 'machine-003', 'machine-004']);
  });

  test('stopped at the first subject of a chunk, it hands the chunk back whole, and one other claims it, once', async () => {
    const held = heldOnce(10);
    const hooks: Hooks = {
      survey: () => machineNames(5),
      async probe(machine, aborted) {
        if (machine !== 'machine-000') return 10;
        const load = await held.call(aborted);
        // Whatever was sent of this chunk has arrived before its subject is done.
        await waitFor(
          () => bench.count('chunks', 'dispatch_no = 2'),
          (sent) => sent === 1,
        );
        await waitFor(
          () => chunks.getJobCounts('waiting', 'prioritized'),
          (jobs) => jobs.waiting === 0 && jobs.prioritized === 0,
        );
        return load;
      },
    };
    const bench = await openBench({ queue, tools: benchTools(hooks) });
    const { chunks } = bench.queues;
    const run = await bench.accept('machine_check');
    const first = await bench.work();
    await held.begun;
    await bench.work({ concurrency: 4 });
    // While nobody may dispatch, a job that was moved back in the queue itself is taken first, and sent again later.
    await bench.db.session(async (connection) => {
      await connection.query('select pg_advisory_lock($1)', [DISPATCH_LOCK]);
      await first.stop(5000);
    });
    expect(await bench.ended(run)).toMatchObject({ status: 'completed' });
    // Claimed, released, claimed: had two claimed it at once, the fence would be higher.
    expect(await bench.chunks(run)).toMatchObject([{ state: 'settled', size: 5, starts: 1, fence: 3 }]);
    expect(held.turns).toBe(2);
  });

  test.each<[string, string, (held: ReturnType<typeof heldOnce>) => Hooks, unknown]>([
    ['plan', 'machine_check', (held) => ({ survey: (_input, aborted) => held.call(aborted) }), machineNames(5)],
    ['collect', 'machine_check', (held) => ({ report: (_counts, aborted) => held.call(aborted) }), 'said'],
    ['procedure', 'machine_report', (held) => ({ survey: (_input, aborted) => held.call(aborted) }), machineNames(5)],
  ])(
    'stopped in %s, another worker begins that step anew, and it counts as one start',
    async (phase, runbook, hooksOf, work) => {
      const held = heldOnce(work);
      const bench = await openBench({ queue, tools: benchTools(hooksOf(held)) });
      const run = await bench.accept(runbook);
      const first = await bench.work();
      await held.begun;
      await bench.work();
      const { fence, starts } = await bench.read(run);
      expect(starts).toBe(1);
      await first.stop(5000);
      const ended = await bench.ended(run);
      expect(ended).toMatchObject({ status: 'completed' });
      expect(held.turns).toBe(2);
      // Release and one more claim; a plan is followed by the claim of collect.
      expect(ended.fence).toBe(fence + 2 + (phase === 'plan' ? 1 : 0));
      expect(await bench.count('answers')).toBe(1);
    },
  );
});

test('a worker that is stopped twice stops once', async () => {
  const bench = await openBench({ tools: benchTools() });
  const worker = await bench.work();
  await Promise.all([worker.stop(1000), worker.stop(1000)]);
  expect(await bench.count('workers')).toBe(0);
});

test.each(backends.filter(({ name }) => name === 'redis'))(
  'stopped while $name is gone: it ends, what it had assessed is settled, and nothing counts as a start',
  async (queue) => {
    const link = await severableLink(queue.url);
    const held = heldOnce(10);
    const bench = await openBench({
      queue: { ...queue, url: link.url },
      tools: benchTools({
        survey: () => machineNames(10),
        probe: (machine, aborted) => (machine === 'machine-003' ? held.call(aborted) : 10),
      }),
    });
    const run = await bench.accept('machine_check');
    const worker = await bench.work({ concurrency: 1 });
    await held.begun;
    await link.cut();
    await worker.stop(5000);
    expect(await bench.chunks(run)).toMatchObject([
      { state: 'settled', size: 3, starts: 1 },
      { state: 'open', size: 2, starts: 0 },
      { state: 'open', size: 5, starts: 0 },
    ]);
    await link.mend();
    await bench.work();
    expect(await bench.ended(run)).toMatchObject({ status: 'completed' });
    expect((await bench.chunks(run)).map((chunk) => chunk.starts)).toEqual([1, 1, 1]);
  },
);
