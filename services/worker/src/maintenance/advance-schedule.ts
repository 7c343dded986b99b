import { type SlotTaker, takeSlot, takeWaitingSlot } from '@muster/host';
import {
  appendAudit,
  insertTick,
  moveSchedule,
  noteEndedRuns,
  pauseSchedule,
  type ScheduleRecord,
  type TickState,
  type Tx,
} from '@muster/results';
import { type Backlog, decideTick, dueSlots, type Slot, type Timing } from '@muster/schedules';

/** Runs that one transaction starts at most; only `allow` starts more than one. */
const MAX_STARTS = 50;

/** What became of how many slots. */
export type TickCounts = Partial<Record<TickState, number>>;

/**
 * Does what is to be done of a locked schedule: notes which runs are over, pauses it when too many failed, starts the slot
 * that waits, and carries out the slots that are due.
 */
export async function advanceSchedule(tx: Tx, schedule: ScheduleRecord, taker: SlotTaker): Promise<TickCounts> {
  const { failures } = await noteEndedRuns(tx, schedule);
  if (isBroken(schedule, failures)) {
    await pauseBroken(tx, schedule, failures, taker.now);
    return {};
  }
  const counts: TickCounts = {};
  const waited = await takeWaitingSlot(tx, schedule, taker);
  if (waited !== undefined) counts[waited] = 1;
  const { state, nextDueAt } = schedule;
  if (state === 'active' && nextDueAt !== null && nextDueAt <= taker.now) await takeDue(tx, schedule, taker, counts);
  return counts;
}

function isBroken({ state, pauseAfterFailures }: ScheduleRecord, failures: number): boolean {
  return state === 'active' && pauseAfterFailures !== null && failures >= pauseAfterFailures;
}

async function pauseBroken(tx: Tx, schedule: ScheduleRecord, failures: number, now: Date): Promise<void> {
  const { tenant, name } = schedule;
  const reason = `${failures} ${failures === 1 ? 'run' : 'runs'} failed in a row`;
  await pauseSchedule(tx, schedule, { code: 'failures', reason }, now);
  await appendAudit(tx, { tenant, action: 'schedule_paused', details: { schedule: name, reason }, now });
}

async function takeDue(tx: Tx, schedule: ScheduleRecord, taker: SlotTaker, counts: TickCounts): Promise<void> {
  const { now } = taker;
  const source = { id: schedule.id, timing: schedule.timing as Timing, jitterMs: schedule.jitterMs };
  const lateBefore = schedule.overlap === 'allow' ? new Date(now.getTime() - schedule.catchUpMs) : now;
  const { folded, slots, next } = dueSlots(source, schedule.nextSlot!, { now, lateBefore });
  if (folded !== undefined) {
    await tellFolded(tx, schedule, folded, now);
    counts.missed = (counts.missed ?? 0) + folded.count;
  }
  let starts = 0;
  for (const [index, slot] of slots.entries()) {
    if (starts >= MAX_STARTS) return await moveSchedule(tx, schedule, slot);
    const laterIsDue = isDue(slots[index + 1] ?? next, now);
    const tick = await takeSlot(tx, schedule, { ...slot, trigger: 'schedule', laterIsDue }, taker);
    if (tick === undefined) continue;
    counts[tick.state] = (counts[tick.state] ?? 0) + 1;
    if (tick.state === 'started') starts += 1;
  }
  await moveSchedule(tx, schedule, next);
}

/** Slots that are too many for a row each get one that says how many they are. */
async function tellFolded(
  tx: Tx,
  schedule: ScheduleRecord,
  { first, last, count }: NonNullable<Backlog['folded']>,
  now: Date,
): Promise<void> {
  const { overlap, catchUpMs } = schedule;
  const decision = decideTick({ ...first, now, overlap, catchUpMs, laterIsDue: true, openRuns: 0, oneWaits: false });
  if (decision.kind !== 'missed') throw new Error('only slots that are missed are told together');
  const reason = `${count} slots until ${last.slot.toISOString()}; the first: ${decision.reason}`;
  const end = { state: 'missed', code: decision.code, reason } as const;
  await insertTick(tx, schedule, { ...first, trigger: 'schedule', end, slots: count }, now);
}

function isDue(slot: Slot | undefined, now: Date): boolean {
  return slot !== undefined && slot.dueAt <= now;
}
