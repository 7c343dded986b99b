import type { ScheduleRecord } from '@muster/results';
import { RUN_PRIORITIES } from '@muster/results';
import { describeTiming, OVERLAP_POLICIES, type Slot, type Timing, timingSchema } from '@muster/schedules';
import { z } from 'zod';
import { PRIORITIES } from './safe-run.ts';

const count = z.number().int();

export const scheduleSchema = z
  .object({
    name: z.string(),
    runbook: z.string(),
    version: z.string().nullable().describe('Null: whatever version is offered when a slot is due.'),
    input: z.record(z.string(), z.unknown()).optional().describe('For keys that may start runs; not in lists.'),
    input_digest: z.string(),
    timing: timingSchema,
    described: z.string().describe("The timing in a person's words."),
    overlap: z.enum(OVERLAP_POLICIES),
    priority: z.enum(PRIORITIES),
    jitter_seconds: count,
    catch_up_seconds: count,
    pause_after_failures: count.nullable(),
    state: z.enum(['active', 'paused']),
    paused: z
      .object({
        code: z.enum(['paused', 'failures', 'left_the_file']),
        reason: z.string(),
        by: z.string().optional().describe('The key that did it; missing where Muster itself did.'),
        at: z.string(),
      })
      .optional(),
    failures: count.describe('Runs that failed, one after the other.'),
    next_due_at: z.string().optional().describe('Missing while nothing is to come.'),
    next: z
      .array(z.object({ slot: z.string(), due_at: z.string() }))
      .optional()
      .describe('The next five slots; not in lists.'),
    source: z.enum(['api', 'file']),
    session_id: z.string().describe('The session of its runs.'),
    revision: count,
    created_at: z.string(),
    updated_at: z.string(),
  })
  .meta({ id: 'Schedule' });

export type ScheduleView = z.infer<typeof scheduleSchema>;

/** What is told beside the row when one schedule is shown. */
export interface ScheduleDetails {
  readonly next?: readonly Slot[];
  readonly showInput?: boolean;
}

/** A schedule as callers see it. */
export function describeSchedule(schedule: ScheduleRecord, { next, showInput }: ScheduleDetails = {}): ScheduleView {
  const { pausedAt, pausedBy, pausedCode, pausedReason } = schedule;
  return {
    name: schedule.name,
    runbook: schedule.runbookName,
    version: schedule.runbookVersion,
    ...(showInput && { input: schedule.input }),
    input_digest: schedule.inputDigest,
    timing: schedule.timing as Timing,
    described: describeTiming(schedule.timing as Timing),
    overlap: schedule.overlap,
    priority: PRIORITIES.find((word) => RUN_PRIORITIES[word] === schedule.priority) ?? 'normal',
    jitter_seconds: schedule.jitterMs / 1000,
    catch_up_seconds: schedule.catchUpMs / 1000,
    pause_after_failures: schedule.pauseAfterFailures,
    state: schedule.state,
    ...(pausedAt !== null && {
      paused: {
        code: pausedCode as NonNullable<ScheduleView['paused']>['code'],
        reason: pausedReason ?? '',
        ...(pausedBy !== null && { by: pausedBy }),
        at: pausedAt.toISOString(),
      },
    }),
    failures: schedule.failures,
    ...(schedule.nextDueAt !== null && { next_due_at: schedule.nextDueAt.toISOString() }),
    ...(next !== undefined && {
      next: next.map(({ slot, dueAt }) => ({ slot: slot.toISOString(), due_at: dueAt.toISOString() })),
    }),
    source: schedule.source,
    session_id: schedule.sessionId,
    revision: schedule.revision,
    created_at: schedule.createdAt.toISOString(),
    updated_at: schedule.updatedAt.toISOString(),
  };
}
