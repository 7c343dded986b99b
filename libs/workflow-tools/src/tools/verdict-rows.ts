import { z } from 'zod';
import { line, pageLimit, runId } from '../arguments.ts';
import { type Bundle, findRun, makeTool } from '../bundle.ts';
import { answerWeight, fitPage } from '../fit-answer.ts';
import type { WorkflowExtras } from '../ports.ts';
import { RUN_STATUSES } from '../run-status.ts';

type Json = Readonly<Record<string, unknown>>;

/** Parts of a row that go when it alone is too heavy, the ones that can be had elsewhere first. */
const SPARE_PARTS = ['evidence', 'walk', 'recording', 'columns', 'reason'];

/** `verdict_rows` */
export function verdictRows(bundle: Bundle, extras: WorkflowExtras) {
  return makeTool({
    name: 'verdict_rows',
    title: 'Read verdict rows',
    description:
      'Rows of a run, one a subject, in the order of its plan; also while it goes on. Filter by standing, verdict, outcome or target.',
    input: z.strictObject({
      run_id: runId,
      standing: z.enum(['ok', 'problem', 'declined']).optional(),
      outcome: z.enum(['verdict', 'declined', 'not_checked', 'cannot_cover']).optional(),
      verdict: line(256).optional(),
      target: line(1024).optional(),
      evidence: z.boolean().default(false).describe('With the rule that decided each row.'),
      after: line(64).optional(),
      limit: pageLimit(20),
    }),
    output: z.object({
      run_id: z.string(),
      run_status: z.enum(RUN_STATUSES),
      rows: z.array(z.record(z.string(), z.unknown())),
      next_after: z.string().optional(),
    }),
    hints: { readOnlyHint: true, idempotentHint: true },
    async invoke({ run_id, limit, ...query }) {
      const run = await findRun(bundle, run_id);
      return await fitPage(
        limit,
        bundle.maxWeight,
        async (wanted) => {
          const page = await extras.rows(run.run_id, { ...query, limit: wanted });
          return {
            run_id: run.run_id,
            run_status: page.run_status,
            rows: page.rows,
            ...(page.next_after !== undefined && { next_after: page.next_after }),
          };
        },
        (page) => ({ ...page, rows: page.rows.map((row) => lightRow(row, bundle.maxWeight ?? Infinity)) }),
      );
    },
  });
}

function lightRow(row: Json, maxWeight: number): Json {
  const light: Record<string, unknown> = { ...row };
  const omitted: string[] = [];
  for (const part of SPARE_PARTS) {
    if (answerWeight(light) <= maxWeight * 0.8) break;
    if (light[part] === undefined) continue;
    delete light[part];
    omitted.push(part);
  }
  return { ...light, omitted };
}
