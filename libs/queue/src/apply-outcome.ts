import { DelayedError, type Job, WaitingError } from 'bullmq';
import type { JobOutcome } from './job-outcome.ts';

/**
 * The one place where an outcome becomes what BullMQ wants to hear. Nothing is ever failed for a reason of ours: BullMQ's
 * counters are log data, and what is to be tried again is decided by the rows in PostgreSQL.
 *
 * @throws DelayedError, WaitingError: BullMQ's way to be told that a job was moved
 */
export async function applyOutcome(job: Job, token: string | undefined, outcome: JobOutcome): Promise<void> {
  switch (outcome.kind) {
    case 'completed':
    case 'discarded':
      return;
    case 'retry':
    case 'snoozed':
      // Never moveToWait for a job that nobody can do now: it would bounce hundreds of times a second (FACTS).
      await job.moveToDelayed(Date.now() + outcome.delayMs, token);
      throw new DelayedError();
    case 'handed_back':
      await job.moveToWait(token);
      throw new WaitingError();
  }
}
