/** The slots of a timing: the instants that it names, whatever happens at them. */
import { cronOf, type Timing } from './timing.ts';

/** More than that {@link slotsBetween} never gives at a time. */
export const MAX_SLOTS = 1000;

/**
 * The slots after one instant and up to another one, oldest first.
 *
 * @param range `after` is left out, `until` (default: no end) may be a slot itself; at most `limit` slots are given, and at
 * most {@link MAX_SLOTS}
 */
export function slotsBetween(
  timing: Timing,
  { after, until, limit }: { readonly after: Date; readonly until?: Date; readonly limit: number },
): Date[] {
  const slots: Date[] = [];
  const next = 'cron' in timing ? nextOfPattern(timing) : nextOfInterval(timing);
  const wanted = Math.min(limit, MAX_SLOTS);
  let last = after;
  while (slots.length < wanted) {
    const slot = next(last);
    if (slot === null || (until !== undefined && slot > until)) break;
    slots.push(slot);
    last = slot;
  }
  return slots;
}

function nextOfPattern(timing: Extract<Timing, { cron: string }>): (after: Date) => Date | null {
  const cron = cronOf(timing);
  return (after) => cron.nextRun(after);
}

function nextOfInterval(timing: Extract<Timing, { every_seconds: number }>): (after: Date) => Date {
  const everyMs = timing.every_seconds * 1000;
  const anchorMs = Date.parse(timing.anchor);
  return (after) => new Date(anchorMs + (Math.floor((after.getTime() - anchorMs) / everyMs) + 1) * everyMs);
}
