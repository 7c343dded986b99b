import type { StopReason } from '@muster/results';

/** Why and whether a turn is to stop: for its run's reason, or because the worker stops and has none. */
export class TurnStop {
  readonly #controller = new AbortController();
  #reason: StopReason | undefined;

  constructor(reason?: StopReason) {
    if (reason !== undefined) this.stop(reason);
  }

  /** Aborts what is under way. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The run's own reason: what was not assessed is `not_checked` for it. */
  reason(): StopReason | undefined {
    return this.#reason;
  }

  /** The worker stops: what was not assessed stays open. */
  get leaving(): boolean {
    return this.signal.aborted && this.#reason === undefined;
  }

  stop(reason?: StopReason): void {
    this.#reason ??= reason;
    this.#controller.abort(reason ?? 'stopping');
  }
}
