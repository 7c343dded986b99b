/** A store that can be taken away, as the faults need it. Whatever was done to it can be undone. */
export interface BreakableStore {
  /** Ends it at once, without a word to anybody. What it had acknowledged is there when it is started again. */
  kill(): Promise<void>;
  /** Starts it again at the same address. Does nothing when it runs. */
  start(): Promise<void>;
  /** Stops all of its processes where they are: connections stay open, and nobody answers. */
  pause(): void;
  /** Lets them go on. Does nothing when they were not stopped. */
  resume(): void;
}

/** Takes a store away for a while: how long is what makes the fault. */
export async function away(store: BreakableStore, forMs: number): Promise<void> {
  await store.kill();
  await elapsed(forMs);
  await store.start();
}

/** Lets a store be deaf for a while. */
export async function deaf(store: BreakableStore, forMs: number): Promise<void> {
  store.pause();
  await elapsed(forMs);
  store.resume();
}

function elapsed(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
