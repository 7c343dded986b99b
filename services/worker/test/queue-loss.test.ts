/** The queue's store loses everything: all that is unfinished is sent again at once, by itself, and once. */
import { testQueueBackends, waitFor } from '@muster/testkit';
import { describe, expect, test } from 'vitest';
import { benchTools, machineNames } from './bench-runbooks.ts';
import { openBench, signal } from './worker-bench.ts';

describe.each(await testQueueBackends())('on $name', (queue) => {
  test('in the middle of runs in every phase, with two workers: each goes on and ends right', async () => {
    const goOn = signal();
    const begun = new Map(['survey', 'probe'].map((place) => [place, signal()]));
    const hold = async <T>(place: string, work: T) => {
      begun.get(place)!.give();
      await goOn.given;
      return work;
    };
    const tools = benchTools({
      survey: (input) =>
        (input as { held?: string }).held === 'survey' ? hold('survey', machineNames(5)) : machineNames(30),
      probe: () => hold('probe', 10),
    });
    const bench = await openBench({ queue, tools });
    const rebuilds = () =>
      bench.logs.filter((line) => line.service === 'queue-keeper' && Number(line.chunks) > 0 && line.msg === 'upkeep');
    await bench.work({ concurrency: 1 });
    await bench.work({ concurrency: 1 });
    const runs = [
      await bench.accept('machine_check'),
      await bench.accept('machine_check', { held: 'survey' }),
      await bench.accept('machine_report', { held: 'survey' }),
    ];
    await Promise.all(['survey', 'probe'].map((place) => begun.get(place)!.given));
    await waitFor(
      () => bench.count('chunks', 'dispatched_at is not null'),
      (sent) => sent === 6,
    );
    await bench.loseQueue();
    await waitFor(rebuilds, (lines) => lines.length > 0);
    goOn.give();
    for (const run of runs) expect(await bench.ended(run)).toMatchObject({ status: 'completed' });
    expect((await bench.rows(runs[0]!)).map((row) => row.verdict)).toEqual(Array(30).fill('fine'));
    expect(rebuilds()).toHaveLength(1);
    // Every chunk that was open was sent a second time, and none a third time.
    expect(await bench.count('chunks', 'dispatch_no > 2')).toBe(0);
    expect(await bench.count('answers')).toBe(3);
  });

  test('while no worker lived: the first that starts sends everything again', async () => {
    const held = signal();
    let first = true;
    const tools = benchTools({
      survey: () => machineNames(10),
      probe: (_machine, aborted) => {
        if (!first) return 10;
        held.give();
        return new Promise((_, reject) => aborted?.addEventListener('abort', () => reject(aborted.reason)));
      },
    });
    const bench = await openBench({ queue, tools });
    const run = await bench.accept('machine_check');
    const worker = await bench.work({ concurrency: 1 });
    await held.given;
    await worker.stop(1000);
    first = false;
    await bench.loseQueue();
    await bench.backend.prepare();
    await bench.work();
    expect(await bench.ended(run)).toMatchObject({ status: 'completed' });
    expect((await bench.chunks(run)).map((chunk) => chunk.starts)).toEqual([1, 1]);
  });

  test('small and urgent runs overtake a sweep, in the queue and before it', async () => {
    const held = signal();
    const goOn = signal();
    const probed: string[] = [];
    const tools = benchTools({
      survey: (input) => {
        const { prefix, count } = input as { prefix: string; count: number };
        return machineNames(count).map((name) => `${prefix} ${name}`);
      },
      async probe(machine) {
        probed.push(machine.split(' ')[0] as string);
        held.give();
        await goOn.given;
        return 10;
      },
    });
    const bench = await openBench({ queue, tools });
    const sweep = await bench.accept('machine_check', { prefix: 'sweep', count: 60 }, { priority: 2 });
    await bench.work({ concurrency: 1 });
    await held.given;
    await waitFor(
      () => bench.queues.chunks.getJobCounts('prioritized'),
      (jobs) => jobs.prioritized === 11,
    );
    const urgent = await bench.accept('machine_check', { prefix: 'urgent', count: 10 }, { priority: 0 });
    await waitFor(
      () => bench.queues.chunks.getJobCounts('waiting', 'prioritized'),
      (jobs) => jobs.waiting! + jobs.prioritized! === 13,
    );
    goOn.give();
    for (const run of [urgent, sweep]) expect(await bench.ended(run)).toMatchObject({ status: 'completed' });
    const expected = [...Array(5).fill('sweep'), ...Array(10).fill('urgent'), ...Array(55).fill('sweep')];
    expect(probed).toEqual(expected);
  });
});
