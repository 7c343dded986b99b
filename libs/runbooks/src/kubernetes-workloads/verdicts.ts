/** The verdict words: how each stands, and what it means. */
import type { Standing } from '@muster/envelope';

const WORDS = {
  crash_loop: ['problem', 'a container crashes again and again'],
  out_of_memory: ['problem', 'a container was killed for its memory'],
  image_pull: ['problem', 'an image cannot be had'],
  bad_config: ['problem', 'a container cannot be made as it is configured'],
  start_error: ['problem', 'a container could not be started'],
  init_failed: ['problem', 'an init container failed'],
  failed: ['problem', 'the pod, or a container of it, has ended in an error'],
  deadline_exceeded: ['problem', 'the pod ran past its deadline'],
  evicted: ['problem', 'the pod was ended by an eviction or another disruption'],
  node_shutdown: ['problem', 'the pod ended because its node was shut down'],
  node_lost: ['problem', 'its node does not answer'],
  rejected: ['problem', 'its node refused to run it'],
  unschedulable: ['problem', 'no node can take it'],
  gated: ['problem', 'a scheduling gate holds it back'],
  stuck_pending: ['problem', 'pending for too long'],
  stuck_creating: ['problem', 'its containers are not made in time'],
  stuck_terminating: ['problem', 'still there after its deletion was due'],
  not_ready: ['problem', 'it runs and is not ready for too long'],
  waiting: ['problem', 'a container waits for a reason that these rules do not know'],
  crashed: ['problem', 'a container crashed a short while ago and runs again'],
  stopped: ['problem', 'it was to run always, yet it has ended'],
  healthy: ['ok', 'it runs and is ready'],
  completed: ['ok', 'it has done its work'],
  starting: ['ok', 'on its way to be ready, within the limit'],
  retrying: ['ok', 'it may fail and is tried again, within the limit'],
  terminating: ['ok', 'being deleted, and not overdue'],
  declined: ['declined', 'no classification: the signal cannot be read'],
} as const satisfies Record<string, readonly [Standing, string]>;

export type Verdict = keyof typeof WORDS;

export const VERDICTS = Object.keys(WORDS) as readonly Verdict[];

/** Each word's standing. */
export const STANDINGS = Object.fromEntries(VERDICTS.map((word) => [word, WORDS[word][0]])) as Record<
  Verdict,
  Standing
>;

/** What a word means whichever rule gave it. */
export function meaningOf(word: Verdict): string {
  return WORDS[word][1];
}
