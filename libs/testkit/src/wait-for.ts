/** Waiting for what another process does. This is the one place in our tests that polls. */
import { setTimeout as sleep } from 'node:timers/promises';

const INTERVAL_MS = 25;
const TIMEOUT_MS = 30_000;

/** Options of {@link waitFor}. */
export interface WaitForOptions {
  /** What is waited for, for the message when it does not come. */
  readonly what?: string;
  /** Default 30 s. */
  readonly timeoutMs?: number;
}

/**
 * Asks again and again until the answer is the one that is waited for, and gives it back. For conditions that no signal
 * tells: rows that another process writes.
 *
 * @throws Error at the deadline, saying what was seen last; a look that threw every time says with what.
 */
export async function waitFor<T>(
  look: () => T | Promise<T>,
  until: (seen: T) => boolean = Boolean,
  options: WaitForOptions = {},
): Promise<T> {
  const { what = 'the condition', timeoutMs = TIMEOUT_MS } = options;
  const deadline = Date.now() + timeoutMs;
  let last = 'nothing';
  for (;;) {
    try {
      const seen = await look();
      if (until(seen)) return seen;
      last = describe(seen);
    } catch (error) {
      last = `an error: ${error instanceof Error ? error.message : String(error)}`;
    }
    if (Date.now() >= deadline) throw new Error(`${what} did not come within ${timeoutMs} ms; last seen: ${last}`);
    await sleep(INTERVAL_MS);
  }
}

function describe(seen: unknown): string {
  const text = JSON.stringify(seen, (_, value) => (typeof value === 'bigint' ? `${value}n` : value)) ?? String(seen);
  return text.length > 1_000 ? `${text.slice(0, 1_000)}…` : text;
}
