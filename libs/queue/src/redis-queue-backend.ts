import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { hostOf, MAX_STALLED_COUNT, type QueueBackend, QueueUnavailableError } from './queue-backend.ts';

const MAX_RETRY_MS = 2000;

/** The queue on Redis, through ioredis. */
export function redisQueueBackend(options: { readonly url: string; readonly prefix: string }): QueueBackend {
  const { url, prefix } = options;
  const where = hostOf(url);
  // A producer fails fast: what could not be sent stays in PostgreSQL and is sent again.
  const producer = () => connect(url, { maxRetriesPerRequest: 1, enableOfflineQueue: false });
  const consumer = () => connect(url, { maxRetriesPerRequest: null });
  return {
    name: 'redis',
    prepare: async () => {},
    async ping(timeoutMs) {
      const redis = connect(url, {
        maxRetriesPerRequest: 0,
        lazyConnect: true,
        connectTimeout: timeoutMs,
        commandTimeout: timeoutMs,
      });
      try {
        await redis.connect();
        await redis.ping();
      } catch (error) {
        throw new QueueUnavailableError(where, { cause: error });
      } finally {
        redis.disconnect();
      }
    },
    openQueue: (name) => owning(new Queue(name, { connection: producer(), prefix, skipMetasUpdate: true })),
    openMark() {
      const redis = connect(url, { maxRetriesPerRequest: 1 });
      const key = `${prefix}:mark`;
      return {
        isThere: async () => (await redis.exists(key)) === 1,
        set: async () => void (await redis.set(key, '1')),
        close: async () => redis.disconnect(),
      };
    },
    openWorker: (name, process, { lockMs, stallCheckMs, concurrency }) =>
      owning(
        new Worker(name, process, {
          connection: consumer(),
          prefix,
          concurrency,
          lockDuration: lockMs,
          stalledInterval: stallCheckMs,
          maxStalledCount: MAX_STALLED_COUNT,
          autorun: false,
        }),
      ),
  };
}

function connect(url: string, options: object): Redis {
  const redis = new Redis(url, { retryStrategy: (times: number) => Math.min(times * 100, MAX_RETRY_MS), ...options });
  // Without a listener a lost connection would end the process; the queue's own listener reports it.
  redis.on('error', () => {});
  return redis;
}

/** BullMQ leaves a connection that it was handed open: it is closed with its owner. */
function owning<T extends { close(...args: never[]): Promise<void>; opts: { connection?: unknown } }>(owner: T): T {
  const close = owner.close.bind(owner);
  owner.close = (async (...args: never[]) => {
    try {
      await close(...args);
    } finally {
      (owner.opts.connection as Redis | undefined)?.disconnect();
    }
  }) as T['close'];
  return owner;
}
