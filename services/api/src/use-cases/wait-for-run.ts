import type { RunRecord } from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import { endsWait } from '../run-changes.ts';
import { findRun, type RunReader } from './find-run.ts';

/** The longest that one request waits. */
export const MAX_WAIT_MS = 30_000;

/** How long to wait, and for what. */
export interface RunWait {
  /** Up to {@link MAX_WAIT_MS}; 0 does not wait. */
  readonly waitMs: number;
  /** What the caller has seen: any newer revision ends the wait, and an interruption that was seen does not. */
  readonly afterRevision?: number | undefined;
  /** Ends the wait at once, with what is known; nothing is thrown. */
  readonly signal?: AbortSignal | undefined;
  /** Told of each change that does not end the wait. */
  readonly onChange?: ((run: RunRecord) => void) | undefined;
}

/**
 * The run when it is over or interrupted, or has a newer revision than `afterRevision`; else its newest row when the time
 * is over, the signal aborts, or this process ends.
 *
 * @throws Problem `run_not_found`, `too_many_waiters`
 */
export async function waitForRun(deps: ApiDeps, reader: RunReader, runId: string, wait: RunWait): Promise<RunRecord> {
  const { waitMs, afterRevision, signal, onChange } = wait;
  const until = performance.now() + Math.min(waitMs, MAX_WAIT_MS);
  const found = await findRun(deps, reader, runId);
  if (waitMs === 0 || endsWait(found, afterRevision)) return found;
  const watch = deps.changes.watch(found);
  try {
    for (;;) {
      const why = await watch.next({ timeoutMs: Math.max(0, until - performance.now()), signal });
      // A notice may be lost with its connection: whoever has waited in vain looks once more.
      if (why === 'timeout') await watch.refresh();
      if (why !== 'changed' || endsWait(watch.newest, afterRevision)) return watch.newest;
      onChange?.(watch.newest);
    }
  } finally {
    watch.release();
  }
}
