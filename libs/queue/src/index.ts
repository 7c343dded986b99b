import { postgresQueueBackend } from './postgres-queue-backend.ts';
import type { QueueBackend } from './queue-backend.ts';
import { redisQueueBackend } from './redis-queue-backend.ts';

export { JobConsumer, type JobConsumerOptions } from './job-consumer.ts';
export { JOB_KINDS, type JobKind, type JobMessage, jobIdOf, QUEUE_NAMES, queueOf } from './job-message.ts';
export { COMPLETED, HANDED_BACK, type JobOutcome } from './job-outcome.ts';
export { closeWithin, JobProducer, type OutgoingJob } from './job-producer.ts';
export { type JobHandler, type QueueBackend, QueueUnavailableError } from './queue-backend.ts';
export type { QueueMark } from './queue-mark.ts';
export { postgresQueueBackend, redisQueueBackend };

/** The backend that the addresses ask for: Redis when one is named, else PostgreSQL. */
export function openQueueBackend(options: {
  readonly redisUrl?: string;
  readonly databaseUrl: string;
  readonly prefix: string;
}): QueueBackend {
  const { redisUrl, databaseUrl, prefix } = options;
  return redisUrl === undefined
    ? postgresQueueBackend({ url: databaseUrl, prefix })
    : redisQueueBackend({ url: redisUrl, prefix });
}
