import { z } from 'zod';
import { isLine, ONE_LINE, runId } from '../arguments.ts';
import { type Bundle, findRun, makeTool } from '../bundle.ts';
import { RUN_STATUSES } from '../run-status.ts';
import { WorkflowToolError } from '../tool.ts';

const REASON_BYTES = 512;
const DEFAULT_REASON = 'cancel requested';

const reason = z
  .string()
  .trim()
  .refine((text) => new TextEncoder().encode(text).byteLength <= REASON_BYTES, `text of at most ${REASON_BYTES} bytes`)
  .refine(isLine, ONE_LINE);

/** `workflow_run_cancel` */
export function runCancel(bundle: Bundle) {
  return makeTool({
    name: 'workflow_run_cancel',
    title: 'Cancel a run',
    description:
      'Asks for the end of a run. Finished verdicts stay, the rest is told as not checked, and the answer still comes.',
    input: z.strictObject({ run_id: runId, reason: reason.optional() }),
    output: z.object({ run_id: z.string(), run_status: z.enum(RUN_STATUSES), idempotent: z.boolean() }),
    hints: { destructiveHint: true, idempotentHint: true },
    async invoke({ run_id, reason: given = '' }) {
      const run = await findRun(bundle, run_id);
      const { run_status } = run;
      if (run_status === 'cancelled') return { run_id: run.run_id, run_status, idempotent: true };
      if (run_status === 'completed' || run_status === 'failed') {
        const message = `the run is ${run_status} already`;
        throw new WorkflowToolError({ code: 'run_final', message, place: 'arguments/run_id' });
      }
      const cancelled = await bundle.supervisor.cancel(run, given || DEFAULT_REASON);
      return { run_id: run.run_id, run_status: cancelled.run_status, idempotent: cancelled.idempotent };
    },
  });
}
