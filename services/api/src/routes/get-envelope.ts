import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { readEnvelope } from '../use-cases/read-answer.ts';
import { runParams } from '../wire/field-schemas.ts';
import { json, refusals } from '../wire/responses.ts';

/** GET /v1/runs/:run_id/envelope */
export function getEnvelope(api: Api, deps: ApiDeps): void {
  api.get(
    '/v1/runs/:run_id/envelope',
    {
      config: { access: 'reader' },
      schema: {
        operationId: 'getEnvelope',
        tags: ['runs'],
        summary: 'The evidence envelope, or the absence that is the answer, with its keys in their order.',
        params: runParams,
        querystring: z.strictObject({}),
        response: { 200: json('The envelope or the absence.', z.unknown()), ...refusals },
      },
    },
    async (request, reply) => {
      const body = await readEnvelope(deps, { caller: callerOf(request) }, request.params.run_id);
      // Written here and not by a schema: the answer goes out with its keys as they were stored.
      return reply.type('application/json').send(JSON.stringify(body));
    },
  );
}
