import type { Job, Worker } from 'bullmq';
import { applyOutcome } from './apply-outcome.ts';
import { jobMessageSchema, type QueueName } from './job-message.ts';
import { closeWithin } from './job-producer.ts';
import type { ConsumerTimings, JobHandler, QueueBackend } from './queue-backend.ts';

export interface JobConsumerOptions extends ConsumerTimings {
  readonly queue: QueueName;
  readonly concurrency: number;
  readonly handle: JobHandler;
  /** Told of surprises: a handler that threw, a store that is away. */
  readonly onError: (error: Error, jobId?: string) => void;
}

/**
 * Takes jobs of one queue and hands them to a handler. Owned: whoever starts it stops it.
 *
 * A handler that throws was surprised; its job is retried after a while by BullMQ's own means (it stays failed, and the
 * dispatcher finds the row still open and sends it anew).
 */
export class JobConsumer {
  readonly #worker: Worker;
  readonly #running = new Set<Promise<unknown>>();
  readonly #stopping = new AbortController();
  readonly #onError: JobConsumerOptions['onError'];

  constructor(backend: QueueBackend, options: JobConsumerOptions) {
    this.#onError = options.onError;
    const process = (job: Job, token?: string) => this.#track(this.#handle(options.handle, job, token));
    this.#worker = backend.openWorker(options.queue, process, options);
    this.#worker.on('error', (error) => options.onError(error));
  }

  /** Begins to take jobs. Resolves when the store was reached. */
  async start(): Promise<void> {
    await this.#worker.waitUntilReady();
    this.#worker.run().catch((error: Error) => this.#onError(error));
  }

  /**
   * Stops taking jobs, tells the handlers to hand back, and waits for them at most `graceMs`. Idempotent. What is still
   * running then is found by others when its lock runs out.
   */
  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort();
    const paused = this.#worker.pause(true).catch(() => {});
    await closeWithin(graceMs, [{ close: async () => void (await Promise.allSettled([paused, ...this.#running])) }]);
    await closeWithin(1000, [{ close: () => this.#worker.close(true) }]);
  }

  async #handle(handle: JobHandler, job: Job, token: string | undefined): Promise<void> {
    let outcome: Awaited<ReturnType<JobHandler>>;
    try {
      const message = jobMessageSchema.parse(job.data);
      outcome = await handle(message, { signal: this.#stopping.signal });
    } catch (error) {
      this.#onError(error as Error, job.id);
      throw error;
    }
    await applyOutcome(job, token, outcome);
  }

  #track<T>(work: Promise<T>): Promise<T> {
    this.#running.add(work);
    const forget = () => void this.#running.delete(work);
    work.then(forget, forget);
    return work;
  }
}
