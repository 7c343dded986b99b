/**
 * The queue as the rest of Muster sees it: jobs are sent, asked about and consumed. Which store carries them is the
 * backend's affair (DESIGN 14).
 */
import type { ConnectionOptions, Queue, Worker } from 'bullmq';
import type { JobMessage, QueueName } from './job-message.ts';
import type { JobOutcome } from './job-outcome.ts';
import type { QueueMark } from './queue-mark.ts';

/** Where a backend's jobs live. */
export interface QueueBackend {
  readonly name: 'redis' | 'postgres';
  /** Makes the store ready; for PostgreSQL it runs BullMQ's own migrations. Idempotent, safe to run at once. */
  prepare(): Promise<void>;
  /** Whether the store answers. @throws QueueUnavailableError */
  ping(timeoutMs: number): Promise<void>;
  openQueue(name: QueueName): Queue;
  openMark(): QueueMark;
  openWorker(name: QueueName, process: Processor, options: ConsumerTimings & { concurrency: number }): Worker;
}

type Processor = NonNullable<Exclude<ConstructorParameters<typeof Worker>[1], string | URL>>;

export type { ConnectionOptions, Processor };

/** How long a silent worker keeps its jobs, and how often that is looked at, in ms. */
export interface ConsumerTimings {
  readonly lockMs: number;
  readonly stallCheckMs: number;
}

/** What handles a job. `signal` is aborted when this worker stops: hand back what is not done. */
export type JobHandler = (message: JobMessage, context: { readonly signal: AbortSignal }) => Promise<JobOutcome>;

/** The queue's store cannot be reached. Names the host, never credentials. */
export class QueueUnavailableError extends Error {
  override readonly name = 'QueueUnavailableError';
  readonly code = 'queue_unavailable';

  constructor(where: string, options?: ErrorOptions) {
    super(`the queue at ${where} cannot be reached`, options);
  }
}

/** The times a job may stall before BullMQ fails it: innocents beside a poison job are charged too (FACTS). */
export const MAX_STALLED_COUNT = 5;

/** The host and port of a URL: all that may be shown of it. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'an address that cannot be read';
}
