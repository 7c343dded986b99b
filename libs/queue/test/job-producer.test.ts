/** Sending and asking: what the dispatcher leans on. */
import { testQueueBackends, waitFor } from '@muster/testkit';
import { describe, expect, test } from 'vitest';
import { COMPLETED, type JobMessage, jobIdOf } from '../src/index.ts';
import { message, openBench, signal } from './queue-bench.ts';

describe.each(await testQueueBackends())('on $name', ({ name, url }) => {
  test('the same dispatch sent twice is one job', async () => {
    const bench = await openBench(name, url);
    const sent = message();
    const last = message();
    const jobs = [sent, sent].map((one) => ({ message: one, priority: 1 }));
    await bench.producer.send(jobs);
    await bench.producer.send(jobs);
    await bench.producer.send([{ message: last, priority: 1 }]);
    const handled: JobMessage[] = [];
    const done = signal();
    await bench.consume(async (received) => {
      handled.push(received);
      if (received.id === last.id) done.give();
      return COMPLETED;
    });
    await done.given;
    expect(handled).toEqual([sent, last]);
  });

  test('another dispatch of the same thing is another job', async () => {
    const bench = await openBench(name, url);
    const first = message();
    const second = { ...first, dispatchNo: 2 };
    await bench.producer.send([first, second].map((one) => ({ message: one, priority: 1 })));
    expect(await Promise.all([bench.producer.isLiving(first), bench.producer.isLiving(second)])).toEqual([true, true]);
    expect(jobIdOf(first)).not.toBe(jobIdOf(second));
  });

  test('a job is living while it waits, is worked on or is delayed, and not when it is done or was never sent', async () => {
    const bench = await openBench(name, url);
    const sent = message();
    const living = () => bench.producer.isLiving(sent);
    expect(await living()).toBe(false);
    await bench.producer.send([{ message: sent, priority: 2 }]);
    expect(await living()).toBe(true);
    const begun = signal();
    const goOn = signal();
    const done = signal();
    let turns = 0;
    const consumer = await bench.consume(async () => {
      turns++;
      if (turns > 1) return COMPLETED;
      begun.give();
      await goOn.given;
      done.give();
      return { kind: 'snoozed', delayMs: 3_600_000, reason: 'later' };
    });
    await begun.given;
    expect(await living()).toBe(true);
    goOn.give();
    await done.given;
    await consumer.stop(5000);
    expect(await living()).toBe(true);
    const job = await bench.queue.getJob(jobIdOf(sent));
    expect(await job?.getState()).toBe('delayed');
    await job?.remove();
    expect(await living()).toBe(false);
  });

  test('of many dispatches those that are on their way are found at once', async () => {
    const bench = await openBench(name, url);
    const [waiting, urgent, worked, delayed, done, never] = Array.from({ length: 6 }, () => message());
    const step = message({ kind: 'plan' });
    const send = (sent: JobMessage[], priority: number) =>
      bench.producer.send(sent.map((one) => ({ message: one, priority })));
    await send([worked!], 1);
    const begun = signal();
    const consumer = await bench.consume(
      async ({ id }) => {
        if (id === done!.id) return COMPLETED;
        if (id === delayed!.id) return { kind: 'snoozed', delayMs: 3_600_000, reason: 'later' };
        begun.give();
        return await new Promise<never>(() => undefined);
      },
      { concurrency: 2 },
    );
    await begun.given;
    await send([done!, delayed!], 1);
    await waitFor(
      () => bench.queue.getJobCounts('active', 'delayed', 'prioritized'),
      (counts) => counts.active === 1 && counts.delayed === 1 && counts.prioritized === 0,
    );
    await consumer.stop(0);
    await send([waiting!, step], 2);
    await send([urgent!], 0);
    const living = await bench.producer.findLiving([never!, step, waiting!, urgent!, done!, worked!, delayed!]);
    expect(new Set(living)).toEqual(new Set([step, waiting, urgent, worked, delayed]));
    expect(await bench.producer.findLiving([])).toEqual([]);
  });

  test('what is more urgent goes first, and equals go in the order in which they were sent', async () => {
    const bench = await openBench(name, url);
    const order = [2, 1, 0, 1, 0].map((priority) => ({ message: message(), priority }));
    await bench.producer.send(order);
    const handled: string[] = [];
    const done = signal();
    await bench.consume(async (received) => {
      handled.push(received.id);
      if (handled.length === order.length) done.give();
      return COMPLETED;
    });
    await done.given;
    const expected = [2, 4, 1, 3, 0].map((index) => order[index]?.message.id);
    expect(handled).toEqual(expected);
  });

  test('chunks and the steps of runs have queues of their own', async () => {
    const bench = await openBench(name, url);
    const step = message({ kind: 'plan' });
    const chunk = message();
    await bench.producer.send([step, chunk].map((one) => ({ message: one, priority: 1 })));
    const taken = signal<JobMessage>();
    await bench.consume(
      async (received) => {
        taken.give(received);
        return COMPLETED;
      },
      { queue: 'runs' },
    );
    expect(await taken.given).toEqual(step);
    expect(await bench.producer.isLiving(chunk)).toBe(true);
  });
});
