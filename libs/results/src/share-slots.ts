/**
 * Who may have how many calls of a limited tool under way: the decision alone, without a store.
 *
 * Invariants:
 * - what is given never goes over what the others have left, whatever their shares would be: a share grows only as the
 *   others' calls end;
 * - slots that somebody else wants are shared evenly, and what nobody else wants is not left lying;
 * - where there are fewer slots than workers that want one, each has its turn.
 */

/** What a worker has and wants of one limit. Instants are in ms. */
export interface SlotHolder {
  readonly holder: string;
  readonly slots: number;
  /** Calls under way and waiting. */
  readonly wanted: number;
  readonly waitingSince: number;
  readonly turnEndsAt: number | null;
}

/** How long a slot stays where it is while others wait for it. */
export const TURN_MS = 500;

/** What a worker has from now on, and up to how many calls under way it may begin new ones. */
export interface SlotShare {
  readonly holder: SlotHolder;
  readonly may: number;
}

/**
 * What a worker has of `limit` slots from now on, beside the others. `mine` is what it had, with what it wants now;
 * undefined when it had nothing yet.
 */
export function shareSlots(
  limit: number,
  mine: SlotHolder | undefined,
  ask: { readonly holder: string; readonly inUse: number; readonly wanted: number },
  others: readonly SlotHolder[],
  now: number,
): SlotShare {
  const turnIsOver = mine !== undefined && (mine.turnEndsAt ?? now) <= now && mine.slots > 0;
  const waitingSince = mine === undefined || turnIsOver ? now : mine.waitingSince;
  const turnEndsAt = mine === undefined || turnIsOver ? null : mine.turnEndsAt;
  const me = { holder: ask.holder, slots: mine?.slots ?? 0, wanted: ask.wanted, waitingSince, turnEndsAt };
  const left = limit - others.reduce((sum, { slots }) => sum + slots, 0);
  const may = Math.max(0, Math.min(fairShare(limit, me, others, now), left));
  // Calls under way cannot be taken back: they count until they end.
  const slots = Math.max(may, ask.inUse);
  return { may, holder: { ...me, slots, turnEndsAt: may === 0 ? null : (turnEndsAt ?? now + TURN_MS) } };
}

/** The share of `me`: what everybody gets by the same level, and one of what is left over when it is its turn. */
function fairShare(limit: number, me: SlotHolder, others: readonly SlotHolder[], now: number): number {
  const all = [me, ...others];
  const level = levelOf(limit, all);
  const spare = limit - all.reduce((sum, { wanted }) => sum + Math.min(wanted, level), 0);
  const inTurn = (holder: SlotHolder) => (holder.turnEndsAt !== null && holder.turnEndsAt > now ? 0 : 1);
  const queue = all
    .filter(({ wanted }) => wanted > level)
    // By name at the last, so that all of them work out the same order.
    .sort((a, b) => inTurn(a) - inTurn(b) || a.waitingSince - b.waitingSince || (a.holder < b.holder ? -1 : 1));
  const place = queue.indexOf(me);
  return Math.min(me.wanted, level) + (place >= 0 && place < spare ? 1 : 0);
}

/** The most that everybody can have when all have the same, or as much as they want. */
function levelOf(limit: number, holders: readonly SlotHolder[]): number {
  let left = limit;
  const wants = holders.map(({ wanted }) => wanted).sort((a, b) => a - b);
  for (const [index, wanted] of wants.entries()) {
    const level = Math.floor(left / (wants.length - index));
    if (wanted > level) return level;
    left -= wanted;
  }
  return Number.MAX_SAFE_INTEGER;
}
