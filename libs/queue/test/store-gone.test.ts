/** The queue's store goes away: nothing hangs, nothing dies, and what is said of it holds no credentials. */
import { severableLink, testQueueBackends } from '@muster/testkit';
import { describe, expect, test } from 'vitest';
import { openQueueBackend, QueueUnavailableError } from '../src/index.ts';
import { message, openBench, signal } from './queue-bench.ts';

const NOWHERE = { redis: 'redis://ann:geheim@127.0.0.1:1/0', postgres: 'postgres://ann:geheim@127.0.0.1:1/none' };

describe.each(await testQueueBackends())('on $name', ({ name, url }) => {
  test('a consumer stops although a job of it never ends', async () => {
    const link = await severableLink(url);
    const bench = await openBench(name, link.url);
    const begun = signal();
    const consumer = await bench.consume(async () => {
      begun.give();
      return await new Promise<never>(() => undefined);
    });
    await bench.producer.send([{ message: message(), priority: 1 }]);
    await begun.given;
    await link.cut();
    await consumer.stop(200);
    await consumer.stop(200);
  });

  test('a consumer stops although a job cannot be handed back, and a producer closes', async () => {
    const link = await severableLink(url);
    const bench = await openBench(name, link.url);
    const begun = signal();
    const consumer = await bench.consume(async (_received, { signal: stop }) => {
      begun.give();
      await new Promise((resolve) => stop.addEventListener('abort', resolve, { once: true }));
      return { kind: 'handed_back' };
    });
    await bench.producer.send([{ message: message(), priority: 1 }]);
    await begun.given;
    await link.cut();
    await consumer.stop(500);
    await bench.producer.close(500);
  });

  test('sending fails instead of waiting, and a question after a job too', async () => {
    const link = await severableLink(url);
    const bench = await openBench(name, link.url);
    const sent = message();
    await bench.producer.send([{ message: sent, priority: 1 }]);
    await link.cut();
    await expect(bench.producer.send([{ message: message(), priority: 1 }])).rejects.toThrow();
    await expect(bench.producer.isLiving(sent)).rejects.toThrow();
  });

  test('an unreachable store is named by its host, never with its password', async () => {
    const backend = openQueueBackend({
      ...(name === 'redis' && { redisUrl: NOWHERE.redis }),
      databaseUrl: NOWHERE.postgres,
      prefix: 'nowhere',
    });
    expect(backend.name).toBe(name);
    const refused = await backend.ping(2000).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(QueueUnavailableError);
    expect(refused).toMatchObject({ code: 'queue_unavailable', message: 'the queue at 127.0.0.1:1 cannot be reached' });
  });

  test('a store is made ready by several at once, and again', async () => {
    const backend = openQueueBackend({
      ...(name === 'redis' && { redisUrl: url }),
      databaseUrl: url,
      prefix: 'several',
    });
    await Promise.all([backend.prepare(), backend.prepare(), backend.prepare()]);
    await backend.prepare();
    await backend.ping(2000);
  });
});
