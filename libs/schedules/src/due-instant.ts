import { createHash } from 'node:crypto';

/**
 * When a slot is due: the slot itself and a share of the jitter, the same one for everybody who asks. Schedules that share
 * a slot come at different instants of it, and one schedule's slots at different places.
 *
 * @param jitterMs 0: at the slot
 */
export function dueInstant(scheduleId: string, slot: Date, jitterMs: number): Date {
  if (jitterMs === 0) return slot;
  const digest = createHash('sha256').update(`${scheduleId}/${slot.toISOString()}`).digest();
  return new Date(slot.getTime() + Math.floor((digest.readUInt32BE() / 2 ** 32) * jitterMs));
}
