import { z } from 'zod';
import { runId } from '../arguments.ts';
import { type Bundle, findRun, makeTool } from '../bundle.ts';
import { fitRun, safeRunShape } from '../safe-run.ts';
import { MAX_WAIT_MS, waitedRun, waitedShape } from './waited-run.ts';

const contract = { run_id: runId };
const more = {
  wait_ms: z.number().int().min(0).max(MAX_WAIT_MS).optional().describe('Wait so long for its end or its question.'),
  include: z
    .array(z.enum(['envelope']))
    .max(1)
    .optional(),
};

/** `workflow_run_get` */
export function runGet(bundle: Bundle) {
  const { extras, maxWeight } = bundle;
  return makeTool({
    name: 'workflow_run_get',
    title: 'Look at a run',
    description:
      extras === undefined
        ? 'One run: its status, how far its history is, what artifacts it left.'
        : 'One run. With wait_ms it waits for the end or a question; with include it adds the envelope: verdicts, and what was not checked.',
    input: z.strictObject(extras === undefined ? contract : { ...contract, ...more }),
    output: z.looseObject(extras === undefined ? safeRunShape : { ...safeRunShape, ...waitedShape }),
    hints: { readOnlyHint: true, idempotentHint: true },
    async invoke(args, { signal }) {
      const { run_id, wait_ms, include } = args as { run_id: string; wait_ms?: number; include?: string[] };
      const run = await findRun(bundle, run_id);
      if (extras === undefined || (wait_ms === undefined && include === undefined)) return fitRun(run, maxWeight);
      const waited = await extras.wait(run.run_id, wait_ms ?? 0, signal);
      return waitedRun(waited, { withEnvelope: include?.includes('envelope') === true, maxWeight });
    },
  });
}
