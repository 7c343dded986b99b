import type { Timers } from './run-chart.ts';

/**
 * The time limit of a chart's run, which stands still while a call of it waits for its turn: what a tool's limits cost
 * is not the subject's fault. While some calls of a run wait and others go on, it stands still too.
 */
export class ChartClock {
  #timers: Timers = globalThis as unknown as Timers;
  #onOver: (() => void) | undefined;
  #timer: unknown;
  #leftMs = 0;
  #startedAt = 0;
  #holds = 0;
  #running = false;

  /** Starts it; `onOver` is called once, when `forMs` have gone by in which nothing held it. */
  start(timers: Timers, forMs: number, onOver: () => void): void {
    this.#timers = timers;
    this.#leftMs = forMs;
    this.#onOver = onOver;
    this.#running = true;
    this.#holds = 0;
    this.#arm();
  }

  /** Ends it. It may be started again. */
  stop(): void {
    if (this.#running) this.#timers.clearTimeout(this.#timer);
    this.#running = false;
  }

  /** Lets it stand still until what it gives back is called. */
  hold(): () => void {
    this.#holds++;
    if (this.#holds === 1 && this.#running) {
      this.#timers.clearTimeout(this.#timer);
      this.#leftMs = Math.max(0, this.#leftMs - (this.#now() - this.#startedAt));
    }
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#holds--;
      if (this.#holds === 0 && this.#running) this.#arm();
    };
  }

  #arm(): void {
    this.#startedAt = this.#now();
    this.#timer = this.#timers.setTimeout(() => this.#onOver?.(), this.#leftMs);
  }

  #now(): number {
    return this.#timers.now?.() ?? performance.now();
  }
}
