import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { listSafeRuns } from '../use-cases/list-runs.ts';
import { id, line, pageLimit } from '../wire/field-schemas.ts';
import { json, refusals } from '../wire/responses.ts';
import { RUN_STATUSES, safeRunSchema } from '../wire/safe-run.ts';

/** GET /v1/runs */
export function listRunsRoute(api: Api, deps: ApiDeps): void {
  api.get(
    '/v1/runs',
    {
      config: { access: 'reader' },
      schema: {
        operationId: 'listRuns',
        tags: ['runs'],
        summary: 'Runs of the tenant, newest first.',
        querystring: z.strictObject({
          status: z.enum(RUN_STATUSES).optional(),
          runbook: line(128).optional(),
          session: line(128)
            .optional()
            .describe("A session's id, the name of one of this key's own, `hook:NAME` or `schedule:NAME`."),
          after: id.optional().describe('`next_after` of the page before.'),
          limit: pageLimit(100, 50),
        }),
        response: {
          200: json('A page.', z.object({ runs: z.array(safeRunSchema), next_after: z.string().optional() })),
          ...refusals,
        },
      },
    },
    async (request) => listSafeRuns(deps, callerOf(request), request.query),
  );
}
