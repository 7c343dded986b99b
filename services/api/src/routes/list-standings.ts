import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { readStandings } from '../use-cases/read-changes.ts';
import { standingSchema } from '../wire/changes.ts';
import { line, pageLimit, scopeName } from '../wire/field-schemas.ts';
import { json, refusals } from '../wire/responses.ts';

/** GET /v1/standings */
export function listStandings(api: Api, deps: ApiDeps): void {
  api.get(
    '/v1/standings',
    {
      config: { access: 'reader' },
      schema: {
        operationId: 'listStandings',
        tags: ['runs'],
        summary: 'Where things stand by the last sweep of each scope, and since when.',
        querystring: z.strictObject({
          runbook: line(128).optional(),
          scope: scopeName.optional(),
          standing: z
            .enum(['ok', 'problem', 'unknown'])
            .optional()
            .describe(
              'What is last known so; `unknown`: what the last sweep could not tell of, however it stood before.',
            ),
          target: line(1024).optional(),
          after: line(64).optional().describe('`next_after` of the page before.'),
          limit: pageLimit(1000, 100),
        }),
        response: {
          200: json('A page.', z.object({ standings: z.array(standingSchema), next_after: z.string().optional() })),
          ...refusals,
        },
      },
    },
    async (request) => readStandings(deps, callerOf(request), request.query),
  );
}
