import type { StopReason } from '@muster/results';
import { STOP_GRACE_MS } from '../stop-grace.ts';

/** Why and whether a turn is to stop: for its run's reason, or because the worker stops and has none. */
export class TurnStop {
  readonly #stop = new AbortController();
  readonly #over = new AbortController();
  #reason: StopReason | undefined;
  #grace: NodeJS.Timeout | undefined;

  constructor(reason?: StopReason) {
    if (reason !== undefined) this.stop(reason);
  }

  /** Tells what is under way. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Aborted when nobody waits any more for what was told: the time to come to an end is over, or the worker stops. */
  get overSignal(): AbortSignal {
    return this.#over.signal;
  }

  /** The run's own reason: what was not assessed is `not_checked` for it. */
  reason(): StopReason | undefined {
    return this.#reason;
  }

  /** The worker stops: what was not assessed stays open. */
  get leaving(): boolean {
    return this.signal.aborted && this.#reason === undefined;
  }

  /** @param atOnce nothing is waited for; without a reason nothing ever is */
  stop(reason?: StopReason, atOnce = reason === undefined): void {
    const first = !this.signal.aborted;
    if (first) this.#reason = reason;
    this.#stop.abort(reason ?? 'stopping');
    if (atOnce) this.#end();
    else if (first) this.#grace = setTimeout(() => this.#end(), STOP_GRACE_MS);
  }

  /** Forgets the time that is running. */
  close(): void {
    clearTimeout(this.#grace);
  }

  #end(): void {
    clearTimeout(this.#grace);
    this.#over.abort(this.signal.reason);
  }
}
