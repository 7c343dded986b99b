import type { Job, Worker } from 'bullmq';
import { applyOutcome } from './apply-outcome.ts';
import { jobMessageSchema, type QueueName } from './job-message.ts';
import type { JobOutcome } from './job-outcome.ts';
import { closeWithin } from './job-producer.ts';
import type { ConsumerTimings, JobHandler, QueueBackend } from './queue-backend.ts';

export interface JobConsumerOptions extends ConsumerTimings {
  readonly queue: QueueName;
  readonly concurrency: number;
  readonly handle: JobHandler;
  /** Told of surprises: a handler that threw, a store that is away. */
  readonly onError: (error: Error, jobId?: string) => void;
}

/** How long the store is waited for at the end: it may be gone, and then it never answers (FACTS). */
const TELLING_MS = 300;
const CLOSING_MS = 400;

/**
 * Takes jobs of one queue and hands them to a handler. Owned: whoever starts it stops it.
 *
 * A handler that throws was surprised; its job is retried after a while by BullMQ's own means (it stays failed, and the
 * dispatcher finds the row still open and sends it anew).
 */
export class JobConsumer {
  readonly #worker: Worker;
  readonly #handling = new Set<Promise<unknown>>();
  readonly #applying = new Set<Promise<unknown>>();
  readonly #stopping = new AbortController();
  readonly #onError: JobConsumerOptions['onError'];

  constructor(backend: QueueBackend, options: JobConsumerOptions) {
    this.#onError = options.onError;
    const process = async (job: Job, token?: string) => {
      const outcome = await track(this.#handling, this.#handle(options.handle, job));
      await track(this.#applying, applyOutcome(job, token, outcome));
    };
    this.#worker = backend.openWorker(options.queue, process, options);
    this.#worker.on('error', (error) => options.onError(error));
  }

  /** Begins to take jobs. Resolves when the store was reached. */
  async start(): Promise<void> {
    await this.#worker.waitUntilReady();
    this.#worker.run().catch((error: Error) => this.#onError(error));
  }

  /**
   * Stops taking jobs, tells the handlers to hand back, and waits for them at most `graceMs`, and a little for the store
   * to be told. Idempotent. What the store was not told, because a handler went on or the store is away, is found by others
   * when its lock runs out.
   */
  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort();
    const paused = this.#worker.pause(true).catch(() => {});
    await settledWithin(graceMs, [paused, ...this.#handling]);
    await settledWithin(TELLING_MS, [...this.#applying]);
    await closeWithin(CLOSING_MS, [{ close: () => this.#worker.close(true) }]);
  }

  async #handle(handle: JobHandler, job: Job): Promise<JobOutcome> {
    try {
      const message = jobMessageSchema.parse(job.data);
      return await handle(message, { signal: this.#stopping.signal });
    } catch (error) {
      this.#onError(error as Error, job.id);
      throw error;
    }
  }
}

function track<T>(under: Set<Promise<unknown>>, work: Promise<T>): Promise<T> {
  under.add(work);
  const forget = () => void under.delete(work);
  work.then(forget, forget);
  return work;
}

function settledWithin(timeoutMs: number, work: readonly Promise<unknown>[]): Promise<void> {
  return closeWithin(timeoutMs, [{ close: async () => void (await Promise.allSettled(work)) }]);
}
