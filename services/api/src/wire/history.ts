import type { RunEvent, RunEventPage } from '@muster/results';
import { z } from 'zod';
import { RUN_STATUSES } from './safe-run.ts';

const whole = z.number().int();

export const historyEntrySchema = z.object({
  revision: whole,
  event_id: z.string(),
  kind: z.enum([
    'run_started',
    'vertex_completed',
    'run_interrupted',
    'run_resumed',
    'run_completed',
    'run_cancelled',
    'run_failed',
  ]),
  run_status: z.enum(RUN_STATUSES),
  vertex_id: z.string().optional(),
  vertex_label: z.string().optional(),
  completed_vertices: whole.optional(),
  total_vertices: whole.optional(),
  message: z.string().optional(),
  occurred_at: z.string(),
});

export type HistoryEntry = z.infer<typeof historyEntrySchema>;

export const historySchema = z
  .object({
    run_id: z.string(),
    entries: z.array(historyEntrySchema),
    next_revision: whole.optional(),
    next_event_id: z.string().optional(),
  })
  .meta({ id: 'RunHistory' });

export type RunHistory = z.infer<typeof historySchema>;

/** A page of the history as callers see it. */
export function runHistory(runId: string, page: RunEventPage): RunHistory {
  return {
    run_id: runId,
    entries: page.entries.map(historyEntry),
    ...(page.nextRevision !== undefined && { next_revision: page.nextRevision }),
    ...(page.nextEventId !== undefined && { next_event_id: page.nextEventId }),
  };
}

function historyEntry(event: RunEvent): HistoryEntry {
  return {
    revision: event.revision,
    event_id: event.eventId,
    kind: event.kind,
    run_status: event.runStatus,
    ...(event.vertexId !== null && { vertex_id: event.vertexId }),
    ...(event.vertexLabel !== null && { vertex_label: event.vertexLabel }),
    ...(event.completedVertices !== null && { completed_vertices: event.completedVertices }),
    ...(event.totalVertices !== null && { total_vertices: event.totalVertices }),
    ...(event.message !== null && { message: event.message }),
    occurred_at: event.occurredAt.toISOString(),
  };
}
