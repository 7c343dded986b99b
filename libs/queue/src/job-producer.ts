import type { Queue } from 'bullmq';
import { type JobMessage, jobIdOf, QUEUE_NAMES, type QueueName, queueOf } from './job-message.ts';
import type { QueueBackend } from './queue-backend.ts';

/** A job to send. `priority` 0 goes first. */
export interface OutgoingJob {
  readonly message: JobMessage;
  readonly priority: number;
}

const KEPT_FAILURES = { age: 24 * 3600, count: 1000 };
/** The states in which a job is still on its way. */
const LISTED = ['waiting', 'active', 'delayed', 'prioritized'] as const;
const LIVING = new Set<string>([...LISTED, 'paused']);

/** Sends jobs and answers whether one is still on its way. */
export class JobProducer {
  readonly #queues: Readonly<Record<QueueName, Queue>>;

  constructor(backend: QueueBackend, onError: (error: Error) => void) {
    this.#queues = {
      runs: backend.openQueue(QUEUE_NAMES.runs),
      chunks: backend.openQueue(QUEUE_NAMES.chunks),
    };
    for (const queue of Object.values(this.#queues)) queue.on('error', onError);
  }

  /** Sends jobs. What throws was perhaps sent: sending again is safe, because a second job claims nothing. */
  async send(jobs: readonly OutgoingJob[]): Promise<void> {
    for (const name of Object.values(QUEUE_NAMES)) {
      const own = jobs.filter((job) => queueOf(job.message.kind) === name);
      if (own.length === 0) continue;
      await this.#queues[name].addBulk(
        own.map(({ message, priority }) => ({
          name: message.kind,
          data: message,
          opts: {
            jobId: jobIdOf(message),
            removeOnComplete: true,
            removeOnFail: KEPT_FAILURES,
            ...(priority > 0 && { priority }),
          },
        })),
      );
    }
  }

  /**
   * Those of the dispatches that the queue still holds. It lists what there is, which is no more than the dispatcher's
   * window, and asks one by one only after what is not in the list: a job may move on while the list is made.
   */
  async findLiving<T extends JobMessage>(messages: readonly T[]): Promise<T[]> {
    const living: T[] = [];
    for (const name of Object.values(QUEUE_NAMES)) {
      const own = messages.filter((message) => queueOf(message.kind) === name);
      if (own.length === 0) continue;
      const listed = new Set(await this.#queues[name].getRanges([...LISTED], 0, -1));
      const found = await Promise.all(
        own.map(async (message) => listed.has(jobIdOf(message)) || (await this.isLiving(message))),
      );
      living.push(...own.filter((_, index) => found[index]));
    }
    return living;
  }

  /** Whether the queue still holds this dispatch: waiting, delayed or being worked on. */
  async isLiving(message: JobMessage): Promise<boolean> {
    return LIVING.has(await this.#queues[queueOf(message.kind)].getJobState(jobIdOf(message)));
  }

  /** Closes, waiting at most `timeoutMs`: closing hangs when the store is gone (FACTS). */
  async close(timeoutMs = 2000): Promise<void> {
    await closeWithin(timeoutMs, Object.values(this.#queues));
  }
}

/** Closes all, but waits no longer than `timeoutMs`. */
export async function closeWithin(timeoutMs: number, items: readonly { close(): Promise<void> }[]): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeoutMs);
  });
  const closed = Promise.allSettled(items.map((item) => item.close()));
  await Promise.race([closed, timeout]);
  clearTimeout(timer);
}
