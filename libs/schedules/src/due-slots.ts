/** The slots of a schedule that are due, and the one that comes next. */
import { dueInstant } from './due-instant.ts';
import { MAX_SLOTS, slotsBetween } from './slots.ts';
import type { Timing } from './timing.ts';

/** What makes the slots of a schedule, and when they are due. */
export interface SlotSource {
  readonly id: string;
  readonly timing: Timing;
  /** Not longer than from one slot to the next: slots are due in their order. */
  readonly jitterMs: number;
}

export interface Slot {
  readonly slot: Date;
  readonly dueAt: Date;
}

/** What is due of a schedule. */
export interface Backlog {
  /** Slots at its beginning that are too many to be told one by one: the first of them, the last, and how many. */
  readonly folded?: { readonly first: Slot; readonly last: Slot; readonly count: number };
  /** At most {@link MAX_SLOTS}, oldest first. */
  readonly slots: readonly Slot[];
  /** The one after them, due or not. */
  readonly next: Slot | undefined;
}

/** So many slots are counted at a time, in half a second at most. What is left is for the next look. */
const MAX_FOLDED = 10_000;

/** The first slot after an instant. */
export function nextSlot(source: SlotSource, after: Date): Slot | undefined {
  return slotsAfter(source, after, 1)[0];
}

/** The next slots after an instant, at most `limit`. */
export function slotsAfter(source: SlotSource, after: Date, limit: number): Slot[] {
  const { id, timing, jitterMs } = source;
  return slotsBetween(timing, { after, limit }).map((slot) => ({ slot, dueAt: dueInstant(id, slot, jitterMs) }));
}

/**
 * What is due at an instant, from the oldest slot without a row on.
 *
 * @param now what is due by then
 * @param lateBefore what was due before that starts nothing in any case, so many of it may be told at once
 */
export function dueSlots(
  source: SlotSource,
  from: Date,
  { now, lateBefore }: { readonly now: Date; readonly lateBefore: Date },
): Backlog {
  let after = new Date(from.getTime() - 1);
  let batch = dueFrom(source, after, now);
  let folded: Backlog['folded'];
  while (batch.length === MAX_SLOTS && batch.at(-1)!.dueAt < lateBefore) {
    const last = batch.at(-1)!;
    const following = dueFrom(source, last.slot, now);
    if (following.length === 0) break;
    folded = { first: folded?.first ?? batch[0]!, last, count: (folded?.count ?? 0) + batch.length };
    if (folded.count >= MAX_FOLDED) return { folded, slots: [], next: following[0] };
    after = last.slot;
    batch = following;
  }
  const next = nextSlot(source, batch.at(-1)?.slot ?? after);
  return { ...(folded !== undefined && { folded }), slots: batch, next };
}

function dueFrom(source: SlotSource, after: Date, now: Date): Slot[] {
  const { id, timing, jitterMs } = source;
  const slots = slotsBetween(timing, { after, until: now, limit: MAX_SLOTS });
  const due = slots.map((slot) => ({ slot, dueAt: dueInstant(id, slot, jitterMs) }));
  const waits = due.findIndex(({ dueAt }) => dueAt > now);
  return waits < 0 ? due : due.slice(0, waits);
}

const SAMPLED_SLOTS = 200;

/** The shortest time between two of the coming slots, in ms; undefined when fewer than two are to come. */
export function shortestGap(timing: Timing, after: Date): number | undefined {
  const slots = slotsBetween(timing, { after, limit: SAMPLED_SLOTS });
  const gaps = slots.slice(1).map((slot, index) => slot.getTime() - slots[index]!.getTime());
  return gaps.length === 0 ? undefined : Math.min(...gaps);
}
