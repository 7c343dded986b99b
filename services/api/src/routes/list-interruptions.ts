import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { readOpenInterruptions } from '../use-cases/read-interruption.ts';
import { id, pageLimit } from '../wire/field-schemas.ts';
import { interruptionSchema } from '../wire/interruption.ts';
import { json, refusals } from '../wire/responses.ts';

/** GET /v1/interruptions */
export function listInterruptions(api: Api, deps: ApiDeps): void {
  api.get(
    '/v1/interruptions',
    {
      config: { access: 'reader' },
      schema: {
        operationId: 'listInterruptions',
        tags: ['interruptions'],
        summary: 'What interrupted runs of the tenant ask, and nobody has answered yet.',
        querystring: z.strictObject({
          after: id.optional().describe('`next_after` of the page before.'),
          limit: pageLimit(100, 50),
        }),
        response: {
          200: json(
            'A page.',
            z.object({ interruptions: z.array(interruptionSchema), next_after: z.string().optional() }),
          ),
          ...refusals,
        },
      },
    },
    async (request) => readOpenInterruptions(deps, { caller: callerOf(request) }, request.query),
  );
}
