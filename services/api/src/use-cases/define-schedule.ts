/** Making, changing and deleting schedules. Each is in the audit of the transaction that does it. */
import { randomUUID } from 'node:crypto';
import {
  appendAudit,
  changeSchedule,
  createSchedule,
  deleteSchedule,
  lockSchedule,
  type ScheduleRecord,
  type Tx,
} from '@muster/results';
import { nextSlot, type ScheduleChange, type ScheduleDeclaration } from '@muster/schedules';
import type { ApiDeps } from '../api-deps.ts';
import type { Caller } from '../caller.ts';
import { Problem } from '../problems.ts';
import { comingSlot, composeSchedule, declarationOf } from './compose-schedule.ts';

/** Makes a schedule. @throws Problem `schedule_exists`, and what {@link composeSchedule} throws */
export async function makeSchedule(
  deps: ApiDeps,
  caller: Caller,
  declared: ScheduleDeclaration,
): Promise<ScheduleRecord> {
  const { tenant, keyId } = caller;
  const { name } = declared;
  const definition = await composeSchedule(deps, declared, { source: 'api', ownerKeyId: keyId });
  const now = clockOf(deps);
  const id = randomUUID();
  const next = nextSlot({ id, timing: declared.timing, jitterMs: definition.jitterMs }, now);
  return await deps.db.transaction(async (tx) => {
    const made = await createSchedule(tx, { ...definition, id, tenant, name, next, now });
    if (made === undefined) throw new Problem('schedule_exists', `there is a schedule '${name}' already`);
    await appendAudit(tx, { tenant, keyId, action: 'schedule_created', details: { schedule: name }, now });
    return made;
  });
}

/**
 * Changes what is given of a schedule. Slots go on as they came, unless the timing or the jitter changes: then they begin
 * anew from now on.
 *
 * @throws Problem `schedule_not_found`, `schedule_of_file`, and what {@link composeSchedule} throws
 */
export async function alterSchedule(
  deps: ApiDeps,
  caller: Caller,
  name: string,
  change: ScheduleChange,
): Promise<ScheduleRecord> {
  const { tenant, keyId } = caller;
  return await deps.db.transaction(async (tx) => {
    const before = await lockOwn(tx, caller, name);
    const given = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
    const definition = await composeSchedule(
      deps,
      { ...declarationOf(before), ...given },
      { source: 'api', ownerKeyId: keyId },
    );
    const now = clockOf(deps);
    const moved = 'timing' in given || 'jitter_seconds' in given;
    const next = moved ? await comingSlot(tx, { ...definition, id: before.id }, now) : nextOf(before);
    const details = { schedule: name, changed: Object.keys(given) };
    await appendAudit(tx, { tenant, keyId, action: 'schedule_changed', details, now });
    return await changeSchedule(tx, before, { ...definition, next, now });
  });
}

/** Deletes a schedule and its ledger. @throws Problem `schedule_not_found`, `schedule_of_file` */
export async function dropSchedule(deps: ApiDeps, caller: Caller, name: string): Promise<void> {
  const { tenant, keyId } = caller;
  await deps.db.transaction(async (tx) => {
    const schedule = await lockOwn(tx, caller, name);
    await deleteSchedule(tx, schedule);
    const now = clockOf(deps);
    await appendAudit(tx, { tenant, keyId, action: 'schedule_deleted', details: { schedule: name }, now });
  });
}

/** The slot that a schedule goes on with as it is. */
export function nextOf({ nextSlot: slot, nextDueAt: dueAt }: ScheduleRecord) {
  return slot === null || dueAt === null ? undefined : { slot, dueAt };
}

/** The refusal of whoever names what is not there. */
export function scheduleNotFound(): Problem {
  return new Problem('schedule_not_found', 'there is no such schedule');
}

function clockOf(deps: ApiDeps): Date {
  return deps.now?.() ?? new Date();
}

/** A schedule that is REST's to change, under its lock. One that left its file is. */
async function lockOwn(tx: Tx, { tenant }: Caller, name: string): Promise<ScheduleRecord> {
  const schedule = await lockSchedule(tx, { tenant, name });
  if (schedule === undefined) throw scheduleNotFound();
  if (schedule.source === 'file' && schedule.pausedCode !== 'left_the_file') {
    throw new Problem('schedule_of_file', `the schedule '${name}' is in the file of schedules, and is changed there`);
  }
  return schedule;
}
