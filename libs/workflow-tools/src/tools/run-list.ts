import { z } from 'zod';
import { pageLimit, runId } from '../arguments.ts';
import { type Bundle, makeTool } from '../bundle.ts';
import { fitPage } from '../fit-answer.ts';
import { briefRun, fitRun } from '../safe-run.ts';

/** What a page needs around its one run. */
const PAGE_ROOM = 100;

/** `workflow_run_list` */
export function runList({ sessionId, registry, maxWeight }: Bundle) {
  return makeTool({
    name: 'workflow_run_list',
    title: 'List runs',
    description: 'The runs of this session, newest first. next_after goes on behind the page.',
    input: z.strictObject({ after: runId.optional(), limit: pageLimit(50) }),
    output: z.object({ runs: z.array(briefRun), next_after: z.string().optional() }),
    hints: { readOnlyHint: true, idempotentHint: true },
    async invoke({ after, limit }) {
      return await fitPage(limit, maxWeight, async (wanted) => {
        const page = await registry.list(sessionId, { after, limit: wanted });
        // A single run is too heavy only for its references.
        const weight = maxWeight !== undefined && wanted === 1 ? maxWeight - PAGE_ROOM : undefined;
        const runs = page.runs.map((run) => fitRun(run, weight));
        return { runs, ...(page.next_after !== undefined && { next_after: page.next_after }) };
      });
    },
  });
}
