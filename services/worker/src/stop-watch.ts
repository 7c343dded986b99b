/**
 * Watches the runs that this worker works on for a reason to stop (a cancel, a deadline). The row is the truth: it is
 * read when a hint says so, and every two seconds for hints that got lost, in one query for all of them.
 *
 * What is under way when its run is stopped is told, and has {@link STOP_GRACE_MS} to come to its end.
 */
import { type Database, readStopReasons, type StopReason } from '@muster/results';
import { STOP_GRACE_MS } from './stop-grace.ts';

/** One job's view of its run. Release it when the job ends. */
export interface RunWatch {
  /** Aborted when the run is to stop; the reason is a {@link StopReason}. */
  readonly signal: AbortSignal;
  /** Aborted when the time to come to an end is over as well: nobody waits for it any more. */
  readonly overSignal: AbortSignal;
  reason(): StopReason | undefined;
  release(): void;
}

/** What a step of a run ends by: it is asked to stop for its run or its worker, and waited for no longer for either. */
export interface StepSignals {
  readonly stopSignal: AbortSignal;
  readonly signal: AbortSignal;
}

/** The signals of a step of a watched run on a worker that may stop. */
export function stepSignals(watch: RunWatch, stopping: AbortSignal): StepSignals {
  return {
    stopSignal: AbortSignal.any([watch.signal, stopping]),
    signal: AbortSignal.any([watch.overSignal, stopping]),
  };
}

interface Watched {
  readonly stop: AbortController;
  readonly over: AbortController;
  grace?: NodeJS.Timeout;
  reason?: StopReason;
  holders: number;
}

interface StopWatchOptions {
  readonly intervalMs?: number;
  readonly graceMs?: number;
  readonly onError: (error: unknown) => void;
}

export class StopWatch {
  readonly #db: Database;
  readonly #options: Required<StopWatchOptions>;
  readonly #runs = new Map<string, Watched>();
  /** Runs that were hinted at while nobody watched them: whoever claimed one just before may begin to watch it now. */
  readonly #heard = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #again = false;

  constructor(db: Database, options: StopWatchOptions) {
    this.#db = db;
    this.#options = { intervalMs: 2000, graceMs: STOP_GRACE_MS, ...options };
  }

  /** Begins to watch a run; `known` is what its row said when it was claimed. */
  watch(runId: string, known: StopReason | null): RunWatch {
    const watched = this.#runs.get(runId) ?? {
      stop: new AbortController(),
      over: new AbortController(),
      holders: 0,
    };
    watched.holders++;
    this.#runs.set(runId, watched);
    if (known !== null) this.#stop(watched, known);
    else if (this.#heard.has(runId)) this.#look();
    this.#arm();
    let held = true;
    return {
      signal: watched.stop.signal,
      overSignal: watched.over.signal,
      reason: () => watched.reason,
      release: () => {
        if (!held) return;
        held = false;
        if (--watched.holders > 0) return;
        clearTimeout(watched.grace);
        this.#runs.delete(runId);
      },
    };
  }

  /** Hears that a run may have been stopped; without an id, that any may have been. */
  hint(runId?: string): void {
    if (runId !== undefined && !this.#runs.has(runId)) {
      this.#heard.add(runId);
      setTimeout(() => this.#heard.delete(runId), this.#options.intervalMs).unref();
    } else this.#look();
  }

  /** Ends the watching. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const watched of this.#runs.values()) clearTimeout(watched.grace);
    this.#runs.clear();
  }

  #arm(): void {
    if (this.#timer !== undefined || this.#runs.size === 0) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#look();
      this.#arm();
    }, this.#options.intervalMs);
  }

  /** One look at a time; whoever asks for one in the meantime gets another behind it. */
  #look(): void {
    if (this.#runs.size === 0) return;
    if (this.#looking !== undefined) {
      this.#again = true;
      return;
    }
    this.#looking = this.#readReasons()
      .catch(this.#options.onError)
      .finally(() => {
        this.#looking = undefined;
        if (!this.#again) return;
        this.#again = false;
        this.#look();
      });
  }

  async #readReasons(): Promise<void> {
    for (const [runId, reason] of await readStopReasons(this.#db, [...this.#runs.keys()])) {
      const watched = this.#runs.get(runId);
      if (watched !== undefined) this.#stop(watched, reason);
    }
  }

  #stop(watched: Watched, reason: StopReason): void {
    if (watched.reason !== undefined) return;
    watched.reason = reason;
    watched.stop.abort(reason);
    watched.grace = setTimeout(() => watched.over.abort(reason), this.#options.graceMs);
  }
}
