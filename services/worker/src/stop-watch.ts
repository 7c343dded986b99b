/**
 * Watches the runs that this worker works on for a reason to stop (a cancel, a deadline). The row is the truth: it is
 * read every half second, in one query for all of them.
 */
import { type Database, readStopReasons, type StopReason } from '@muster/results';

/** One job's view of its run. Release it when the job ends. */
export interface RunWatch {
  /** Aborted when the run is to stop; the reason is a {@link StopReason}. */
  readonly signal: AbortSignal;
  reason(): StopReason | undefined;
  release(): void;
}

interface Watched {
  readonly controller: AbortController;
  reason?: StopReason;
  holders: number;
}

export class StopWatch {
  readonly #db: Database;
  readonly #intervalMs: number;
  readonly #onError: (error: unknown) => void;
  readonly #runs = new Map<string, Watched>();
  #timer: NodeJS.Timeout | undefined;

  constructor(db: Database, options: { intervalMs?: number; onError: (error: unknown) => void }) {
    this.#db = db;
    this.#intervalMs = options.intervalMs ?? 500;
    this.#onError = options.onError;
  }

  /** Begins to watch a run; `known` is what its row said when it was claimed. */
  watch(runId: string, known: StopReason | null): RunWatch {
    const watched = this.#runs.get(runId) ?? { controller: new AbortController(), holders: 0 };
    watched.holders++;
    this.#runs.set(runId, watched);
    if (known !== null) this.#stop(watched, known);
    this.#arm();
    let held = true;
    return {
      signal: watched.controller.signal,
      reason: () => watched.reason,
      release: () => {
        if (!held) return;
        held = false;
        if (--watched.holders === 0) this.#runs.delete(runId);
      },
    };
  }

  /** Ends the watching. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#runs.clear();
  }

  #arm(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(async () => {
      try {
        await this.#look();
      } catch (error) {
        this.#onError(error);
      }
      this.#timer = undefined;
      if (this.#runs.size > 0) this.#arm();
    }, this.#intervalMs);
  }

  async #look(): Promise<void> {
    for (const [runId, reason] of await readStopReasons(this.#db, [...this.#runs.keys()])) {
      const watched = this.#runs.get(runId);
      if (watched !== undefined) this.#stop(watched, reason);
    }
  }

  #stop(watched: Watched, reason: StopReason): void {
    if (watched.reason !== undefined) return;
    watched.reason = reason;
    watched.controller.abort(reason);
  }
}
