import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { makeKey } from '../use-cases/make-key.ts';
import { createdKeySchema, ROLES } from '../wire/api-key.ts';
import { line } from '../wire/field-schemas.ts';
import { json, refusals } from '../wire/responses.ts';

/** POST /v1/keys */
export function createKey(api: Api, deps: ApiDeps): void {
  api.post(
    '/v1/keys',
    {
      config: { access: 'admin' },
      schema: {
        operationId: 'createKey',
        tags: ['keys'],
        summary: "Make an API key of this key's tenant. The key is shown here and never again.",
        body: z.strictObject({
          name: line(128),
          role: z.enum(ROLES),
          tenant_wide: z.boolean().optional().describe('See every session of the tenant over MCP. Default false.'),
        }),
        querystring: z.strictObject({}),
        response: { 201: json('Made.', createdKeySchema), ...refusals },
      },
    },
    async (request, reply) => reply.code(201).send(await makeKey(deps, callerOf(request), request.body)),
  );
}
