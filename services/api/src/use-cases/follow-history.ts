/**
 * A run's history as it happens.
 *
 * Invariants:
 * - every entry behind the cursor comes once and in order: entries are read from the store by cursor, and a notice only
 *   says that it is time to read;
 * - it ends behind the entry that ends the run, when the reader goes away, when this process ends, and after
 *   {@link MAX_FOLLOW_MS} at the latest; whoever goes on behind the last entry that was seen misses nothing.
 */
import { isFinal } from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import type { HistoryEntry } from '../wire/history.ts';
import { findRun, type RunReader } from './find-run.ts';
import { readHistory } from './read-history.ts';

/** A lost notice would leave a reader without news for no longer than this. */
export const MAX_FOLLOW_MS = 15 * 60_000;

const PAGE_ENTRIES = 100;
const HEARTBEAT_MS = 15_000;
const LAST_KINDS: ReadonlySet<string> = new Set(['run_completed', 'run_cancelled', 'run_failed']);

/** Behind which entry to begin; without one, from the start. */
export interface HistoryPlace {
  readonly afterRevision?: number | undefined;
  readonly afterEventId?: string | undefined;
}

/**
 * Begins to follow. The first entries are read before this resolves, so that a refusal comes before anything is given.
 *
 * @param signal aborts when nobody reads any more; until then a place to wait is held
 * @returns pages of entries, an empty one as a sign of life; undefined when nothing can come behind that place any more
 * @throws Problem `run_not_found`, `too_many_waiters`; UnknownCursorError
 */
export async function followHistory(
  deps: ApiDeps,
  reader: RunReader,
  runId: string,
  place: HistoryPlace,
  signal: AbortSignal,
): Promise<AsyncGenerator<readonly HistoryEntry[]> | undefined> {
  const run = await findRun(deps, reader, runId);
  const watch = deps.changes.watch(run);
  // Not when the entries end: whoever leaves before the first one never comes there.
  if (signal.aborted) watch.release();
  else signal.addEventListener('abort', () => watch.release(), { once: true });
  const readNext = historyReader(deps, reader, runId, place);
  const first = await readNext().catch((error: unknown) => {
    watch.release();
    throw error;
  });
  if (first.length === 0 && isFinal(run.status)) {
    watch.release();
    return undefined;
  }
  return follow();

  async function* follow() {
    const heartbeatMs = deps.heartbeatMs ?? HEARTBEAT_MS;
    const until = performance.now() + MAX_FOLLOW_MS;
    for (let entries = first; ; entries = await readNext()) {
      if (entries.length > 0) yield entries;
      if (LAST_KINDS.has(entries.at(-1)?.kind ?? '')) return;
      if (entries.length === PAGE_ENTRIES) continue;
      let why = await watch.next({ timeoutMs: heartbeatMs, signal });
      while (why === 'timeout' && performance.now() < until) {
        yield [];
        why = await watch.next({ timeoutMs: heartbeatMs, signal });
      }
      if (why !== 'changed') return;
    }
  }
}

/** Reads on from where it is, at most a page at once. */
function historyReader(deps: ApiDeps, reader: RunReader, runId: string, place: HistoryPlace) {
  let { afterRevision, afterEventId } = place;
  return async (): Promise<HistoryEntry[]> => {
    const query = { after_revision: afterRevision, after_event_id: afterEventId, limit: PAGE_ENTRIES };
    const { entries } = await readHistory(deps, reader, runId, query);
    const last = entries.at(-1);
    if (last !== undefined) ({ revision: afterRevision, event_id: afterEventId } = last);
    return entries;
  };
}
