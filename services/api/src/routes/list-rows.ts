import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { listRows } from '../use-cases/list-rows.ts';
import { line, pageLimit, runParams } from '../wire/field-schemas.ts';
import { json, refusals } from '../wire/responses.ts';
import { RUN_STATUSES } from '../wire/safe-run.ts';
import { OUTCOMES, STANDINGS, subjectRowSchema } from '../wire/subject-row.ts';

const pageSchema = z.object({
  run_id: z.string(),
  run_status: z.enum(RUN_STATUSES),
  rows: z.array(subjectRowSchema),
  next_after: z.string().optional(),
});

/** GET /v1/runs/:run_id/rows */
export function listRowsRoute(api: Api, deps: ApiDeps): void {
  api.get(
    '/v1/runs/:run_id/rows',
    {
      config: { access: 'reader' },
      schema: {
        operationId: 'listRows',
        tags: ['runs'],
        summary: 'The rows of a run, one a subject, in the order of the plan; also while it goes on.',
        params: runParams,
        querystring: z.strictObject({
          standing: z.enum(STANDINGS).optional(),
          verdict: line(256).optional(),
          outcome: z.enum(OUTCOMES).optional(),
          target: line(1024).optional(),
          include: z.enum(['evidence']).optional(),
          after: line(64).optional().describe('`next_after` of the page before.'),
          limit: pageLimit(1000, 100),
        }),
        response: { 200: json('A page.', pageSchema), ...refusals },
      },
    },
    async (request) => {
      const { include, ...query } = request.query;
      const reader = { caller: callerOf(request) };
      return listRows(deps, reader, request.params.run_id, { ...query, evidence: include === 'evidence' });
    },
  );
}
