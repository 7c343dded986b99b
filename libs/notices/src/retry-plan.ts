/** When a notice that did not get through is tried again. */

/** Waits after the first attempts, in seconds; after the last one the notice is dead. Together some 28 hours. */
const WAITS = [5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800, 43_200] as const;

/** How often a notice is tried. */
export const MAX_ATTEMPTS: number = WAITS.length + 1;

/** The longest that a receiver may ask us to wait. */
const MAX_ASKED_MS = 6 * 3_600_000;

/**
 * How long to wait after an attempt, in ms, or undefined when it was the last one.
 *
 * @param attempt which one it was, from 1
 * @param askedMs what `Retry-After` said: it is kept when it is longer than ours
 * @param chance from 0 to 1: up to a fifth is added, so that many that failed at once do not come back at once
 */
export function waitAfter(attempt: number, askedMs: number | undefined, chance: number): number | undefined {
  const seconds = WAITS[attempt - 1];
  if (seconds === undefined) return undefined;
  const own = seconds * 1000 * (1 + chance / 5);
  return Math.round(Math.max(own, Math.min(askedMs ?? 0, MAX_ASKED_MS)));
}

/** What a `Retry-After` header asks for, in ms: seconds, or an HTTP date. */
export function retryAfterMs(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now.getTime());
}

/** What an answer means. */
export type Reception = 'taken' | 'again' | 'never';

/** Any 2xx is taken. 410 says that nobody wants it any more. Everything else may be better later; redirects are not followed. */
export function receptionOf(status: number): Reception {
  if (status >= 200 && status < 300) return 'taken';
  return status === 410 ? 'never' : 'again';
}
