import { z } from 'zod';
import { pageLimit, runId } from '../arguments.ts';
import { type Bundle, makeTool } from '../bundle.ts';
import { fitPage } from '../fit-answer.ts';
import { safeRun, safeRunShape } from '../safe-run.ts';

/** `workflow_run_list` */
export function runList({ sessionId, registry, maxWeight }: Bundle) {
  return makeTool({
    name: 'workflow_run_list',
    title: 'List runs',
    description: 'The runs of this session, newest first. next_after goes on behind the page.',
    input: z.strictObject({ after: runId.optional(), limit: pageLimit(50) }),
    output: z.object({ runs: z.array(z.object(safeRunShape)), next_after: z.string().optional() }),
    hints: { readOnlyHint: true, idempotentHint: true },
    async invoke({ after, limit }) {
      return await fitPage(
        limit,
        maxWeight,
        async (wanted) => {
          const page = await registry.list(sessionId, { after, limit: wanted });
          const runs = page.runs.map(safeRun);
          return { runs, ...(page.next_after !== undefined && { next_after: page.next_after }) };
        },
        // A single run is too heavy only for its references.
        (page) => ({ ...page, runs: page.runs.map(({ artifacts: _left, ...run }) => run) }),
      );
    },
  });
}
