/** A schedule as people write it: over REST, in a file, to the command line. Closed: a field that nobody reads is refused. */
import { z } from 'zod';
import { OVERLAP_POLICIES } from './decide-tick.ts';
import { timingSchema } from './timing.ts';

const DAY_SECONDS = 86_400;

/** How soon runs of a schedule are worked on. */
export const SCHEDULE_PRIORITIES = ['interactive', 'normal', 'sweep'] as const;

/** Names of schedules. */
export const scheduleName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/)
  .describe('At most 64 lower-case letters, digits, dots, _ and -; unique in its tenant.');

const fields = {
  runbook: z.string().min(1).max(128),
  version: z
    .string()
    .min(1)
    .max(128)
    .nullable()
    .describe('A version that it stays with; null follows whatever version is offered when a slot is due.'),
  input: z.record(z.string(), z.unknown()).describe("The runbook's input. It may name no uploads."),
  timing: timingSchema,
  overlap: z.enum(OVERLAP_POLICIES).describe('What a slot does that finds a run of the schedule not over.'),
  priority: z.enum(SCHEDULE_PRIORITIES),
  jitter_seconds: z
    .number()
    .int()
    .min(0)
    .max(DAY_SECONDS)
    .describe('Each slot is due up to so much later, by its own share; not longer than from one slot to the next.'),
  catch_up_seconds: z
    .number()
    .int()
    .min(0)
    .max(7 * DAY_SECONDS)
    .describe('A slot that is found later than that is missed.'),
  pause_after_failures: z
    .number()
    .int()
    .min(1)
    .max(1000)
    .nullable()
    .describe('So many failed runs in a row pause it; null: none do.'),
};

/** Everything of a schedule but its name, each field as it is given. */
export const scheduleChangeSchema = z.strictObject(fields).partial().meta({ id: 'ScheduleChange' });
export type ScheduleChange = z.infer<typeof scheduleChangeSchema>;

const whole = {
  runbook: fields.runbook,
  version: fields.version.default(null),
  input: fields.input.default({}),
  timing: fields.timing,
  overlap: fields.overlap.default('skip'),
  priority: fields.priority.default('sweep'),
  jitter_seconds: fields.jitter_seconds.default(0),
  catch_up_seconds: fields.catch_up_seconds.default(3600),
  pause_after_failures: fields.pause_after_failures.default(null),
};

/** A schedule, with what is left out at its default. */
export const scheduleDeclarationSchema = z
  .strictObject({ name: scheduleName, ...whole })
  .meta({ id: 'ScheduleDeclaration' });
export type ScheduleDeclaration = z.infer<typeof scheduleDeclarationSchema>;

/** A schedule of a file, which says whose it is. */
export const filedScheduleSchema = z.strictObject({
  name: scheduleName,
  tenant: z.string().min(1).max(128).default('default'),
  ...whole,
});
export type FiledSchedule = z.infer<typeof filedScheduleSchema>;
