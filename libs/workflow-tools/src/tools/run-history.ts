import { z } from 'zod';
import { pageLimit, runId } from '../arguments.ts';
import { boundedLine } from '../bounded-text.ts';
import { type Bundle, findRun, makeTool } from '../bundle.ts';
import { fitPage } from '../fit-answer.ts';
import { HISTORY_KINDS, type HistoryEntry } from '../ports.ts';
import { RUN_STATUSES } from '../run-status.ts';

const MAX_REVISION = 2_147_483_647;
const [LABEL_BYTES, MESSAGE_BYTES] = [128, 512];

const whole = z.number().int();
const entry = z.object({
  revision: whole,
  event_id: z.string(),
  kind: z.enum(HISTORY_KINDS),
  run_status: z.enum(RUN_STATUSES),
  vertex_id: z.string().optional(),
  vertex_label: z.string().optional(),
  completed_vertices: whole.optional(),
  total_vertices: whole.optional(),
  message: z.string().optional(),
  occurred_at: z.string(),
});

/** `workflow_run_history` */
export function runHistory(bundle: Bundle) {
  return makeTool({
    name: 'workflow_run_history',
    title: 'Read a run’s history',
    description:
      'What happened to a run, in order. Give next_revision and next_event_id back to read on: nothing is lost or repeated.',
    input: z.strictObject({
      run_id: runId,
      after_revision: whole.min(0).max(MAX_REVISION).optional(),
      after_event_id: runId.optional(),
      limit: pageLimit(50),
    }),
    output: z.object({
      run_id: z.string(),
      entries: z.array(entry),
      next_revision: whole.optional(),
      next_event_id: z.string().optional(),
    }),
    hints: { readOnlyHint: true, idempotentHint: true },
    async invoke({ run_id, limit, ...cursor }) {
      const run = await findRun(bundle, run_id);
      return await fitPage(limit, bundle.maxWeight, async (wanted) => {
        const page = await bundle.supervisor.history(run, { ...cursor, limit: wanted });
        return {
          run_id: run.run_id,
          entries: page.entries.map(historyEntry),
          ...(page.next_revision !== undefined && { next_revision: page.next_revision }),
          ...(page.next_event_id !== undefined && { next_event_id: page.next_event_id }),
        };
      });
    },
  });
}

function historyEntry(event: HistoryEntry): z.infer<typeof entry> {
  return {
    revision: event.revision,
    event_id: event.event_id,
    kind: event.kind,
    run_status: event.run_status,
    ...(event.vertex_id !== undefined && { vertex_id: boundedLine(event.vertex_id, LABEL_BYTES) }),
    ...(event.vertex_label !== undefined && { vertex_label: boundedLine(event.vertex_label, LABEL_BYTES) }),
    ...(event.completed_vertices !== undefined && { completed_vertices: event.completed_vertices }),
    ...(event.total_vertices !== undefined && { total_vertices: event.total_vertices }),
    ...(event.message !== undefined && { message: boundedLine(event.message, MESSAGE_BYTES) }),
    occurred_at: event.occurred_at,
  };
}
