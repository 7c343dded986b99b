/** What handling a job came to, and what BullMQ makes of it: each outcome on each backend. */
import { testQueueBackends, waitFor } from '@muster/testkit';
import { describe, expect, test } from 'vitest';
import { COMPLETED, HANDED_BACK, type JobOutcome, jobIdOf } from '../src/index.ts';
import { message, openBench, type QueueBench, signal } from './queue-bench.ts';

const FAR_OFF_MS = 3_600_000;

async function jobState(bench: QueueBench, id: string): Promise<string> {
  return await bench.queue.getJobState(id);
}

describe.each(await testQueueBackends())('on $name', ({ name, url }) => {
  test.each<[string, JobOutcome]>([
    ['completed', COMPLETED],
    ['discarded', { kind: 'discarded', reason: 'nothing left to do' }],
  ])('a %s job is gone from the queue', async (_word, outcome) => {
    const bench = await openBench(name, url);
    const sent = message();
    await bench.producer.send([{ message: sent, priority: 1 }]);
    await bench.consume(async () => outcome);
    await waitFor(
      () => jobState(bench, jobIdOf(sent)),
      (state) => state === 'unknown',
    );
    expect(bench.errors).toEqual([]);
  });

  test.each(['retry', 'snoozed'] as const)(
    'a job to %s waits for as long as was said, and counts as no attempt',
    async (kind) => {
      const bench = await openBench(name, url);
      const sent = message();
      const before = Date.now();
      await bench.producer.send([{ message: sent, priority: 1 }]);
      await bench.consume(async () => ({ kind, delayMs: FAR_OFF_MS, reason: 'not now' }));
      await waitFor(
        () => jobState(bench, jobIdOf(sent)),
        (state) => state === 'delayed',
      );
      const job = await bench.queue.getJob(jobIdOf(sent));
      expect(job?.attemptsMade).toBe(0);
      // BullMQ keeps what was left when it wrote the delay: the clock may have gone on by then, but never for longer than the test.
      const leftMs = job?.delay ?? 0;
      expect(leftMs).toBeLessThanOrEqual(FAR_OFF_MS);
      expect(leftMs).toBeGreaterThanOrEqual(FAR_OFF_MS - (Date.now() - before));
      expect(bench.errors).toEqual([]);
    },
  );

  test('a snoozed job comes again by itself, with the same message', async () => {
    const bench = await openBench(name, url);
    const sent = message();
    const seen: unknown[] = [];
    const again = signal();
    await bench.consume(async (received) => {
      seen.push(received);
      if (seen.length === 1) return { kind: 'snoozed', delayMs: 1, reason: 'somebody else has its definition' };
      again.give();
      return COMPLETED;
    });
    await bench.producer.send([{ message: sent, priority: 1 }]);
    await again.given;
    expect(seen).toEqual([sent, sent]);
  });

  test('a job that is handed back goes to another worker at once, and counts as no attempt', async () => {
    const bench = await openBench(name, url);
    const sent = message();
    const begun = signal();
    const stopping = await bench.consume(async (_received, { signal: stop }) => {
      begun.give();
      await new Promise((resolve) => stop.addEventListener('abort', resolve, { once: true }));
      return HANDED_BACK;
    });
    await bench.producer.send([{ message: sent, priority: 1 }]);
    await begun.given;
    const taken = signal<number | undefined>();
    const stopped = stopping.stop(5000);
    await stopped;
    await bench.consume(async (received) => {
      taken.give((await bench.queue.getJob(jobIdOf(received)))?.attemptsMade);
      return COMPLETED;
    });
    expect(await taken.given).toBe(0);
    expect(bench.errors).toEqual([]);
  });

  test('a handler that throws is reported with its job, which ends as failed and is not living any more', async () => {
    const bench = await openBench(name, url);
    const sent = message();
    await bench.consume(async () => {
      throw new TypeError('a surprise');
    });
    await bench.producer.send([{ message: sent, priority: 1 }]);
    await waitFor(
      () => jobState(bench, jobIdOf(sent)),
      (state) => state === 'failed',
    );
    expect(bench.errors.map((error) => error.message)).toEqual(['a surprise']);
    expect(await bench.producer.isLiving(sent)).toBe(false);
  });

  test('a message of another shape never reaches the handler, and is reported', async () => {
    const bench = await openBench(name, url);
    const handled: unknown[] = [];
    await bench.consume(async (received) => {
      handled.push(received);
      return COMPLETED;
    });
    const odd = { ...message(), payload: 'a pod' };
    await bench.queue.add('assess', odd, { jobId: jobIdOf(odd) });
    await waitFor(
      () => jobState(bench, jobIdOf(odd)),
      (state) => state === 'failed',
    );
    expect(handled).toEqual([]);
    expect(bench.errors).toHaveLength(1);
  });

  test('what waits in the queue is ids alone, well under a kilobyte', async () => {
    const bench = await openBench(name, url);
    const sent = message({ tenant: 't'.repeat(64), dispatchNo: 1_000_000 });
    await bench.producer.send([{ message: sent, priority: 1 }]);
    const job = await bench.queue.getJob(jobIdOf(sent));
    expect(job?.data).toEqual(sent);
    expect(JSON.stringify(job?.data).length).toBeLessThan(400);
  });
});
