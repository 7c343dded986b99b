/**
 * Waiting for changes of runs, for every door of this process.
 *
 * Invariants:
 * - one connection listens for all, and while nothing changes nothing is asked;
 * - however many wait for one run, a notice costs one read; notices that come close together share one query;
 * - a notice can be lost only with its connection, and after each (re)connection all watched runs are read once;
 * - whoever waits holds a place, there are no more than `maxWaiters`, and a place is free again as soon as its wait is
 *   over, for whatever reason.
 */
import { type Database, getRuns, isFinal, listenForRunChanges, type RunRecord } from '@muster/results';
import { Problem } from './problems.ts';

/** A place to wait for changes of one run. Release it. */
export interface RunWatch {
  /** The newest row known here. */
  readonly newest: RunRecord;
  /** Resolves when there is a newer row, the time is over, the signal aborts, or this process ends. */
  next(options: { timeoutMs: number; signal?: AbortSignal | undefined }): Promise<'changed' | 'timeout' | 'ended'>;
  /** Reads the row now, together with everybody who asks for it at this moment. */
  refresh(): Promise<void>;
  release(): void;
}

export interface RunChangesOptions {
  readonly maxWaiters: number;
  /** Told of trouble with the connection; it is made again by itself. */
  readonly onError?: (error: unknown) => void;
}

interface Watched {
  newest: RunRecord;
  watches: number;
  readonly wake: Set<() => void>;
}

interface Listener {
  stop(): void | Promise<void>;
}

/** Ids of one query. */
const BATCH = 500;
/** After a query that failed. */
const RETRY_MS = 1_000;

export class RunChanges {
  readonly #db: Database;
  readonly #options: RunChangesOptions;
  readonly #runs = new Map<string, Watched>();
  readonly #dirty = new Set<string>();
  readonly #ended = new AbortController();
  #watches = 0;
  #listener: Listener | undefined;
  #reading: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;

  constructor(db: Database, options: RunChangesOptions) {
    this.#db = db;
    this.#options = options;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#watches;
  }

  /**
   * Watches a run that was just read. Listening begins with the first watch, so a process in which nobody waits holds no
   * connection for it.
   *
   * @throws Problem `too_many_waiters`
   */
  watch(run: RunRecord): RunWatch {
    if (this.#watches >= this.#options.maxWaiters) {
      const detail = `${this.#watches} requests wait here already, and there may be no more`;
      throw new Problem('too_many_waiters', detail, {}, { headers: { 'retry-after': '5' } });
    }
    this.#watches += 1;
    const watched = this.#join(run);
    this.#listen();
    let seen = run.revision;
    let released = false;
    return {
      get newest() {
        return watched.newest;
      },
      next: async (options) => {
        if (watched.newest.revision <= seen) await this.#pause(watched, options);
        if (watched.newest.revision > seen) {
          seen = watched.newest.revision;
          return 'changed';
        }
        return options.signal?.aborted || this.#ended.signal.aborted ? 'ended' : 'timeout';
      },
      refresh: () => this.#read([run.id]),
      release: () => {
        if (released) return;
        released = true;
        this.#watches -= 1;
        watched.watches -= 1;
        if (watched.watches === 0) this.#runs.delete(run.id);
      },
    };
  }

  /** Ends every wait at once and stops listening. */
  async close(): Promise<void> {
    this.#ended.abort();
    clearTimeout(this.#retry);
    for (const { wake } of this.#runs.values()) for (const one of [...wake]) one();
    await this.#listener?.stop();
    await this.#reading;
  }

  #join(run: RunRecord): Watched {
    const watched = this.#runs.get(run.id) ?? { newest: run, watches: 0, wake: new Set() };
    watched.watches += 1;
    this.#runs.set(run.id, watched);
    this.#take(run);
    return watched;
  }

  #listen(): void {
    if (this.#listener !== undefined || this.#ended.signal.aborted) return;
    this.#listener = listenForRunChanges(this.#db, {
      onChange: (runId) => {
        if (this.#runs.has(runId)) void this.#read([runId]);
      },
      onReconnected: () => void this.#read(this.#runs.keys()),
      onError: (error) => this.#options.onError?.(error),
    });
  }

  #pause(watched: Watched, { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal | undefined }) {
    return new Promise<void>((resolve) => {
      if (signal?.aborted || this.#ended.signal.aborted) return resolve();
      const over = (): void => {
        clearTimeout(timer);
        watched.wake.delete(over);
        signal?.removeEventListener('abort', over);
        resolve();
      };
      const timer = setTimeout(over, timeoutMs);
      watched.wake.add(over);
      signal?.addEventListener('abort', over);
    });
  }

  /** Resolves when all of these have been read. Ids that come while a query is under way go into the next one. */
  #read(runIds: Iterable<string>): Promise<void> {
    for (const runId of runIds) this.#dirty.add(runId);
    this.#reading ??= this.#readDirty();
    return this.#reading;
  }

  async #readDirty(): Promise<void> {
    clearTimeout(this.#retry);
    // A turn of the event loop, so that the notices of one burst are read together.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#dirty.size > 0) {
      const ids = [...this.#dirty].slice(0, BATCH);
      for (const id of ids) this.#dirty.delete(id);
      try {
        for (const run of await getRuns(this.#db, { ids })) this.#take(run);
      } catch (error) {
        this.#options.onError?.(error);
        for (const id of ids) if (this.#runs.has(id)) this.#dirty.add(id);
        if (this.#dirty.size > 0 && !this.#ended.signal.aborted) {
          this.#retry = setTimeout(() => void this.#read([]), RETRY_MS);
        }
        break;
      }
    }
    // In the same step as the last look at what is left, so that nothing falls in between.
    this.#reading = undefined;
  }

  #take(run: RunRecord): void {
    const watched = this.#runs.get(run.id);
    if (watched === undefined || run.revision < watched.newest.revision) return;
    const isChange = run.revision > watched.newest.revision;
    watched.newest = run;
    if (isChange) for (const wake of [...watched.wake]) wake();
  }
}

/** Whether nobody who has seen `afterRevision` needs to wait for this row any longer. */
export function endsWait(run: RunRecord, afterRevision: number | undefined): boolean {
  if (isFinal(run.status)) return true;
  return afterRevision === undefined ? run.status === 'interrupted' : run.revision > afterRevision;
}
