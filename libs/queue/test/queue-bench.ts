/** What the tests of this room start from: a backend in a place of its own, a producer, and consumers that are stopped. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { TestQueueBackend } from '@muster/testkit';
import type { Queue } from 'bullmq';
import { onTestFinished } from 'vitest';
import {
  JobConsumer,
  type JobHandler,
  type JobMessage,
  JobProducer,
  postgresQueueBackend,
  type QueueBackend,
  redisQueueBackend,
} from '../src/index.ts';

export interface QueueBench {
  readonly backend: QueueBackend;
  readonly prefix: string;
  readonly producer: JobProducer;
  /** The raw queue, to look at what BullMQ thinks of a job. */
  readonly queue: Queue;
  /** What producers and consumers reported as surprises. */
  readonly errors: Error[];
  consume(handle: JobHandler, options?: { queue?: 'runs' | 'chunks'; concurrency?: number }): Promise<JobConsumer>;
}

/** Opens a backend at a URL; everything it opened is closed when the test ends. */
export async function openBench(name: TestQueueBackend['name'], url: string): Promise<QueueBench> {
  const prefix = `t${randomBytes(6).toString('hex')}`;
  const backend = name === 'redis' ? redisQueueBackend({ url, prefix }) : postgresQueueBackend({ url, prefix });
  await backend.prepare();
  const errors: Error[] = [];
  const producer = new JobProducer(backend, (error) => void errors.push(error));
  const queue = backend.openQueue('chunks');
  queue.on('error', () => undefined);
  onTestFinished(async () => {
    await Promise.all([producer.close(), Promise.race([queue.close(), producer.close(2000)])]);
  });
  return {
    backend,
    prefix,
    producer,
    queue,
    errors,
    async consume(handle, { queue: from = 'chunks', concurrency = 1 } = {}) {
      const consumer = new JobConsumer(backend, {
        queue: from,
        concurrency,
        handle,
        lockMs: 5000,
        stallCheckMs: 1000,
        onError: (error) => void errors.push(error),
      });
      onTestFinished(() => consumer.stop(1000));
      await consumer.start();
      return consumer;
    },
  };
}

/** A message of a chunk that no row stands for. */
export function message(over: Partial<JobMessage> = {}): JobMessage {
  return { kind: 'assess', id: randomUUID(), runId: randomUUID(), tenant: 'acme', dispatchNo: 1, ...over };
}

/** A promise that somebody else fulfils. */
export function signal<T = void>(): { readonly given: Promise<T>; give(value: T): void } {
  const { promise, resolve } = Promise.withResolvers<T>();
  return { given: promise, give: resolve };
}
