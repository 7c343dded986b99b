import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { readAudit } from '../use-cases/read-audit.ts';
import { auditEntrySchema } from '../wire/audit.ts';
import { id, line, pageLimit } from '../wire/field-schemas.ts';
import { json, refusals } from '../wire/responses.ts';

/** GET /v1/audit */
export function listAuditRoute(api: Api, deps: ApiDeps): void {
  api.get(
    '/v1/audit',
    {
      config: { access: 'admin' },
      schema: {
        operationId: 'listAudit',
        tags: ['audit'],
        summary: 'Who decided what in this tenant: answers, cancels, keys, quotas. Nothing of it is ever changed.',
        querystring: z.strictObject({
          run_id: id.optional().describe('Only what concerns this run.'),
          after: line(64).optional().describe('`next_after` of the page before.'),
          limit: pageLimit(100, 50),
        }),
        response: {
          200: json('A page.', z.object({ entries: z.array(auditEntrySchema), next_after: z.string().optional() })),
          ...refusals,
        },
      },
    },
    async (request) => readAudit(deps, callerOf(request), request.query),
  );
}
