import type { Timers } from './run-chart.ts';

/**
 * The time limit of a chart's run, which stands still while a call of it waits for its turn: what a tool's limits cost
 * is not the subject's fault. While some calls of a run wait and others go on, it stands still too.
 *
 * The time that was waited is added behind the limit, so that a clock is read only where something waits.
 */
export class ChartClock {
  #run: ClockedRun | undefined;

  /** Starts it; `onOver` is called once, when `forMs` have gone by in which nothing held it. */
  start(timers: Timers, forMs: number, onOver: () => void): void {
    this.#run = { timers, onOver, holds: 0, heldFrom: 0, heldMs: 0, isOver: false };
    arm(this.#run, forMs);
  }

  /** Ends it. It may be started again. */
  stop(): void {
    if (this.#run !== undefined) this.#run.timers.clearTimeout(this.#run.timer);
    this.#run = undefined;
  }

  /** Lets it stand still until what it gives back is called. */
  hold(): () => void {
    const run = this.#run;
    if (run === undefined) return () => {};
    if (++run.holds === 1) run.heldFrom = nowOf(run);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      // What is left over from a run that has ended holds nobody up.
      if (--run.holds > 0 || run !== this.#run) return;
      if (run.isOver) addHeld(run);
      else run.heldMs += nowOf(run) - run.heldFrom;
    };
  }
}

interface ClockedRun {
  readonly timers: Timers;
  readonly onOver: () => void;
  timer?: unknown;
  holds: number;
  heldFrom: number;
  /** What was waited since the timer was set. */
  heldMs: number;
  /** The timer ran out while it was held. */
  isOver: boolean;
}

function arm(run: ClockedRun, forMs: number): void {
  run.timer = run.timers.setTimeout(() => {
    if (run.holds > 0) {
      run.heldMs += nowOf(run) - run.heldFrom;
      run.isOver = true;
    } else if (run.heldMs > 0) {
      addHeld(run);
    } else {
      run.onOver();
    }
  }, forMs);
}

function addHeld(run: ClockedRun): void {
  const { heldMs } = run;
  run.heldMs = 0;
  run.isOver = false;
  arm(run, heldMs);
}

function nowOf({ timers }: ClockedRun): number {
  return timers.now?.() ?? performance.now();
}
