import type { TickRecord } from '@muster/results';
import { z } from 'zod';

export const tickSchema = z
  .object({
    slot: z.string().describe('The instant that the timing names, or that of a trigger.'),
    trigger: z.enum(['schedule', 'manual']),
    asked_by: z.string().optional().describe('The key that asked for it by hand.'),
    state: z.enum(['queued', 'started', 'skipped', 'missed', 'refused']),
    run_id: z.string().optional(),
    run_status: z
      .enum(['completed', 'cancelled', 'failed', 'forgotten'])
      .optional()
      .describe('How the run ended; missing while it is open.'),
    reason_code: z.string().optional(),
    reason: z.string().optional(),
    slots: z.number().int().describe('How many slots it stands for, from its own on: 1 but after a long downtime.'),
    due_at: z.string(),
    decided_at: z.string(),
  })
  .meta({ id: 'Tick' });

export type TickView = z.infer<typeof tickSchema>;

/** A row of the ledger as callers see it. */
export function describeTick(tick: TickRecord): TickView {
  return {
    slot: tick.slot.toISOString(),
    trigger: tick.trigger,
    ...(tick.askedBy !== null && { asked_by: tick.askedBy }),
    state: tick.state,
    ...(tick.runId !== null && { run_id: tick.runId }),
    ...(tick.runStatus !== null && { run_status: tick.runStatus }),
    ...(tick.reasonCode !== null && { reason_code: tick.reasonCode }),
    ...(tick.reason !== null && { reason: tick.reason }),
    slots: tick.slots,
    due_at: tick.dueAt.toISOString(),
    decided_at: tick.decidedAt.toISOString(),
  };
}
