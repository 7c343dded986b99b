import { z } from 'zod';
import { runId } from '../arguments.ts';
import { type Bundle, findRun, makeTool } from '../bundle.ts';
import { boundFault, canonicalDocument } from '../json-bounds.ts';
import { briefRun, fitRun } from '../safe-run.ts';
import { WorkflowToolError } from '../tool.ts';

/** `workflow_run_resume` */
export function runResume(bundle: Bundle) {
  return makeTool({
    name: 'workflow_run_resume',
    title: 'Answer a run',
    description: 'Answers what an interrupted run asks, and lets it go on. The answer is kept with who gave it.',
    input: z.strictObject({
      run_id: runId,
      resume: z.record(z.string(), z.unknown()).describe('The answer, as the definition’s resume schema says.'),
    }),
    output: briefRun,
    hints: { destructiveHint: true },
    async invoke({ run_id, resume: value }) {
      const run = await findRun(bundle, run_id);
      if (run.run_status !== 'interrupted') {
        const message = `the run is ${run.run_status}; only an interrupted run can be resumed`;
        throw new WorkflowToolError({ code: 'not_interrupted', message, place: 'arguments/run_id' });
      }
      const place = 'arguments/resume';
      const fault = boundFault(value);
      if (fault !== undefined) {
        throw new WorkflowToolError({ code: 'input_out_of_bounds', message: `${place}: ${fault.message}`, place });
      }
      await bundle.catalog.validateResume(run, value);
      const answer = { value, ...(await canonicalDocument(value)) };
      return fitRun(await bundle.supervisor.resume(run, answer), bundle.maxWeight);
    },
  });
}
