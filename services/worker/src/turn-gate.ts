/**
 * Who may work beside whom in this process.
 *
 * A subject that ends processes takes its neighbours with it. While it is looked for, its chunk is taken one subject a
 * turn, and such a turn is alone in the process: then a death says which subject it was, and nobody else is charged.
 */
export class TurnGate {
  #sharing = 0;
  #alone = false;
  readonly #waitingAlone: (() => void)[] = [];
  readonly #waitingShared: (() => void)[] = [];

  /** Works beside others, but not beside a turn that is alone, nor past one that waits to be. */
  async shared<T>(work: () => Promise<T>): Promise<T> {
    while (this.#alone || this.#waitingAlone.length > 0) {
      await new Promise<void>((resolve) => this.#waitingShared.push(resolve));
    }
    this.#sharing++;
    try {
      return await work();
    } finally {
      this.#sharing--;
      this.#next();
    }
  }

  /** Works while nothing else does. */
  async alone<T>(work: () => Promise<T>): Promise<T> {
    while (this.#alone || this.#sharing > 0) {
      await new Promise<void>((resolve) => this.#waitingAlone.push(resolve));
    }
    this.#alone = true;
    try {
      return await work();
    } finally {
      this.#alone = false;
      this.#next();
    }
  }

  #next(): void {
    if (this.#alone) return;
    if (this.#sharing === 0 && this.#waitingAlone.length > 0) this.#waitingAlone.shift()?.();
    else if (this.#waitingAlone.length === 0) for (const go of this.#waitingShared.splice(0)) go();
  }
}
