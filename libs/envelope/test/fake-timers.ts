import type { Timers } from '../src/index.ts';

/** Timers that go only when they are told to, with the clock that they go by. */
export class FakeTimers implements Timers {
  #at = 1000;
  #next = 0;
  readonly #armed = new Map<number, { at: number; callback: () => void }>();

  readonly now = () => this.#at;

  setTimeout(callback: () => void, ms: number): number {
    this.#armed.set(++this.#next, { at: this.#at + ms, callback });
    return this.#next;
  }

  clearTimeout(handle: unknown): void {
    this.#armed.delete(handle as number);
  }

  /** How many timers are armed. */
  get armed(): number {
    return this.#armed.size;
  }

  /** Lets time go by; whatever comes due is called in its order, with everything that it sets off. */
  async advance(ms: number): Promise<void> {
    const end = this.#at + ms;
    await settled();
    for (;;) {
      const due = [...this.#armed]
        .filter(([, { at }]) => at <= end)
        .sort((a, b) => a[1].at - b[1].at || a[0] - b[0])[0];
      if (due === undefined) break;
      const [handle, { at, callback }] = due;
      this.#armed.delete(handle);
      this.#at = Math.max(this.#at, at);
      callback();
      await settled();
    }
    this.#at = end;
  }
}

/** When everything that promises have set off is done. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
