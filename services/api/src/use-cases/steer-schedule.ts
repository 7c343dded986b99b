/** Pausing schedules, letting them go on, and asking for a run of one now. Each is in the audit. */
import { takeSlot } from '@muster/host';
import {
  appendAudit,
  isTicked,
  lockSchedule,
  noteEndedRuns,
  pauseSchedule,
  resumeSchedule,
  type ScheduleRecord,
  type TickRecord,
  type Tx,
} from '@muster/results';
import { slotsBetween, type Timing } from '@muster/schedules';
import type { ApiDeps } from '../api-deps.ts';
import type { Caller } from '../caller.ts';
import { Problem } from '../problems.ts';
import { comingSlot } from './compose-schedule.ts';
import { scheduleNotFound } from './define-schedule.ts';

/** Pauses a schedule: nothing is due until it is resumed. Its open run goes on. @throws Problem `schedule_not_found` */
export async function holdSchedule(
  deps: ApiDeps,
  caller: Caller,
  name: string,
  reason = 'paused by hand',
): Promise<ScheduleRecord> {
  return await steer(deps, caller, name, 'schedule_paused', async (tx, schedule, now) => {
    const paused = await pauseSchedule(tx, schedule, { code: 'paused', reason, by: caller.keyId }, now);
    return [paused, { reason: paused.pausedReason }];
  });
}

/**
 * Lets a schedule go on with the first slot from now on; one that runs stays as it is.
 *
 * @throws Problem `schedule_not_found`, `schedule_of_file`
 */
export async function releaseSchedule(deps: ApiDeps, caller: Caller, name: string): Promise<ScheduleRecord> {
  return await steer(deps, caller, name, 'schedule_resumed', async (tx, schedule, now) => {
    if (schedule.state === 'active') return [schedule, undefined];
    if (schedule.pausedCode === 'left_the_file') {
      throw new Problem(
        'schedule_of_file',
        `the schedule '${name}' left the file of schedules, and comes back with it`,
      );
    }
    // What failed before is forgotten with the pause, and must not pause it again.
    await noteEndedRuns(tx, schedule);
    return [await resumeSchedule(tx, schedule, await comingSlot(tx, schedule, now), now), {}];
  });
}

/**
 * Asks for a run of a schedule now, paused or not. What comes of it is a row of the ledger: its policy of overlaps holds.
 *
 * @throws Problem `schedule_not_found`
 */
export async function triggerSchedule(deps: ApiDeps, caller: Caller, name: string): Promise<TickRecord> {
  const { catalog } = deps;
  return await steer(deps, caller, name, 'schedule_triggered', async (tx, schedule, now) => {
    await noteEndedRuns(tx, schedule);
    const slot = await freeInstant(tx, schedule, now);
    const asked = { slot, dueAt: now, trigger: 'manual', askedBy: caller.keyId, laterIsDue: false } as const;
    const tick = (await takeSlot(tx, schedule, asked, { catalog, now }))!;
    return [tick, { state: tick.state, ...(tick.runId !== null && { run: tick.runId }) }];
  });
}

/** An instant that no slot stands for: the ledger has one row for each. */
async function freeInstant(tx: Tx, schedule: ScheduleRecord, now: Date): Promise<Date> {
  for (let at = now; ; at = new Date(at.getTime() + 1)) {
    const before = new Date(at.getTime() - 1);
    const isSlot = slotsBetween(schedule.timing as Timing, { after: before, until: at, limit: 1 }).length > 0;
    if (!isSlot && !(await isTicked(tx, schedule.id, at))) return at;
  }
}

/** Does something to a locked schedule; details that are undefined say that nothing was done. */
function steer<T>(
  deps: ApiDeps,
  { tenant, keyId }: Caller,
  name: string,
  action: string,
  work: (tx: Tx, schedule: ScheduleRecord, now: Date) => Promise<[T, Record<string, unknown> | undefined]>,
): Promise<T> {
  return deps.db.transaction(async (tx) => {
    const schedule = await lockSchedule(tx, { tenant, name });
    if (schedule === undefined) throw scheduleNotFound();
    const now = deps.now?.() ?? new Date();
    const [result, details] = await work(tx, schedule, now);
    if (details !== undefined) {
      await appendAudit(tx, { tenant, keyId, action, details: { schedule: name, ...details }, now });
    }
    return result;
  });
}
