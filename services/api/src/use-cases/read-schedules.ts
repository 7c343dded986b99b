import { findSchedule, listSchedules, listTicks, type ScheduleRecord } from '@muster/results';
import { slotsAfter, type Timing } from '@muster/schedules';
import type { ApiDeps } from '../api-deps.ts';
import { type Caller, roleCovers } from '../caller.ts';
import { decodeCursor, encodeCursor } from '../wire/cursor.ts';
import { describeSchedule, type ScheduleView } from '../wire/schedule.ts';
import { describeTick, type TickView } from '../wire/tick.ts';
import { scheduleNotFound } from './define-schedule.ts';

const SHOWN_SLOTS = 5;

/** Page of a list. */
export interface PageQuery {
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface SchedulesView {
  readonly schedules: ScheduleView[];
  readonly next_after?: string;
}

export interface TicksView {
  readonly ticks: TickView[];
  readonly next_after?: string;
}

/** The tenant's schedules, by name. */
export async function readSchedules(deps: ApiDeps, { tenant }: Caller, query: PageQuery): Promise<SchedulesView> {
  const page = await listSchedules(deps.db, { tenant, after: query.after, limit: query.limit });
  return {
    schedules: page.schedules.map((schedule) => describeSchedule(schedule)),
    ...(page.nextAfter !== undefined && { next_after: page.nextAfter }),
  };
}

/** One schedule, with its next slots. @throws Problem `schedule_not_found` */
export async function readSchedule(deps: ApiDeps, caller: Caller, name: string): Promise<ScheduleView> {
  return showSchedule(caller, await find(deps, caller, name));
}

/** A schedule as this caller sees it. */
export function showSchedule(caller: Caller, schedule: ScheduleRecord): ScheduleView {
  return describeSchedule(schedule, { next: nextSlots(schedule), showInput: roleCovers(caller.role, 'runner') });
}

/** The ledger of a schedule, what was decided last first. @throws Problem `schedule_not_found`, `unknown_cursor` */
export async function readTicks(deps: ApiDeps, caller: Caller, name: string, query: PageQuery): Promise<TicksView> {
  const schedule = await find(deps, caller, name);
  const after = query.after === undefined ? undefined : decodeCursor('ticks', query.after);
  const page = await listTicks(deps.db, { tenant: caller.tenant, scheduleId: schedule.id, after, limit: query.limit });
  return {
    ticks: page.ticks.map(describeTick),
    ...(page.nextAfter !== undefined && { next_after: encodeCursor('ticks', page.nextAfter) }),
  };
}

async function find(deps: ApiDeps, { tenant }: Caller, name: string): Promise<ScheduleRecord> {
  const schedule = await findSchedule(deps.db, { tenant, name });
  if (schedule === undefined) throw scheduleNotFound();
  return schedule;
}

function nextSlots({ id, jitterMs, nextSlot, timing }: ScheduleRecord) {
  if (nextSlot === null) return [];
  return slotsAfter({ id, jitterMs, timing: timing as Timing }, new Date(nextSlot.getTime() - 1), SHOWN_SLOTS);
}
