/**
 * A call that keeps to the limits of its tool and backs off from a busy target.
 *
 * Invariants: a call begins with a permit and gives it back however it ends; a busy target is asked again, after the time
 * it named or after growing, random ones, and for no longer than it is worth; then the call is given up by the names of
 * tool and target.
 */
import type { CallPacer, CallPermit, PacedCall } from './call-pacer.ts';
import { type BusySign, readBusy, TargetBusyError } from './tool-busy.ts';
import type { RunClock } from './tool-dispatch.ts';

export interface PacedCallOptions {
  readonly pacer: CallPacer;
  readonly call: PacedCall;
  /** Held while the call waits. */
  readonly clock?: RunClock;
  /** From 0 to 1, for pauses that nobody named. */
  readonly random?: () => number;
}

/** A call is tried this often. */
const MAX_TRIES = 8;
const [FIRST_PAUSE_MS, LAST_PAUSE_MS] = [1000, 30_000];
/** Longer than that nobody is paused at one time, whatever a target says. */
const MAX_PAUSE_MS = 3_600_000;

/** Makes a call. `run` is called once for each try. */
export async function callPaced<T>({ pacer, call, ...options }: PacedCallOptions, run: () => Promise<T>): Promise<T> {
  const { tool, target, patienceMs } = call;
  let backedOffMs = 0;
  for (let attempt = 1; ; attempt++) {
    const permit = await admitted(pacer, call, attempt, options);
    let how: 'busy' | undefined;
    try {
      return await run();
    } catch (error) {
      const busy = readBusy(error);
      if (busy === undefined) throw error;
      how = 'busy';
      const pauseMs = pauseOf(busy, attempt, options.random ?? Math.random);
      pacer.pause({ tool, ...(target !== undefined && { target }) }, pauseMs);
      backedOffMs += pauseMs;
      if (attempt >= MAX_TRIES || backedOffMs > patienceMs) {
        throw new TargetBusyError(tool, target, `and gave up after ${attempt} ${attempt === 1 ? 'try' : 'tries'}`);
      }
    } finally {
      permit?.release(how);
    }
  }
}

/** The first try of a tool that declares nothing and was never found busy needs no permit. */
async function admitted(
  pacer: CallPacer,
  call: PacedCall,
  attempt: number,
  { clock }: Pick<PacedCallOptions, 'clock'>,
): Promise<CallPermit | undefined> {
  if (attempt === 1 && call.limits === undefined && !pacer.remembers(call.tool)) return undefined;
  const resume = clock?.hold();
  try {
    return await pacer.admit(call);
  } finally {
    resume?.();
  }
}

function pauseOf({ retryAfterMs }: BusySign, attempt: number, random: () => number): number {
  if (retryAfterMs !== undefined) return Math.min(retryAfterMs, MAX_PAUSE_MS);
  const whole = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), LAST_PAUSE_MS);
  return whole / 2 + (whole / 2) * random();
}
