export {
  decideTick,
  OVERLAP_POLICIES,
  type OverlapPolicy,
  type TickDecision,
  type TickSituation,
} from './decide-tick.ts';
export {
  type FiledSchedule,
  filedScheduleSchema,
  SCHEDULE_PRIORITIES,
  type ScheduleChange,
  type ScheduleDeclaration,
  scheduleChangeSchema,
  scheduleDeclarationSchema,
  scheduleName,
} from './declaration.ts';
export { dueInstant } from './due-instant.ts';
export { type Backlog, dueSlots, nextSlot, type Slot, type SlotSource, shortestGap, slotsAfter } from './due-slots.ts';
export { MAX_FILE_BYTES, parseScheduleFile, parseText, ScheduleFileError } from './schedule-file.ts';
export { MAX_SLOTS, slotsBetween } from './slots.ts';
export { describeTiming, type Timing, timingSchema } from './timing.ts';
