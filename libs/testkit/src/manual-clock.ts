/** A clock that moves only when it is told to. */
export interface ManualClock {
  /** The instant, as code under test asks for it. */
  readonly now: () => Date;
  advance(byMs: number): void;
  set(to: Date | string): void;
}

/** A clock that stands at `start` (default: a fixed instant, so that nothing depends on the day a test runs). */
export function manualClock(start: Date | string = '2030-01-01T00:00:00.000Z'): ManualClock {
  let at = instant(start);
  return {
    now: () => new Date(at),
    advance(byMs) {
      at += byMs;
    },
    set(to) {
      at = instant(to);
    },
  };
}

function instant(of: Date | string): number {
  const at = new Date(of).getTime();
  if (Number.isNaN(at)) throw new TypeError(`manualClock: ${JSON.stringify(of)} is no instant`);
  return at;
}
