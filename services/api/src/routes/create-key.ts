import { createApiKey } from '@muster/results';
import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
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
        body: z.strictObject({ name: line(128), role: z.enum(ROLES) }),
        querystring: z.strictObject({}),
        response: { 201: json('Made.', createdKeySchema), ...refusals },
      },
    },
    async (request, reply) => {
      const { name, role } = request.body;
      const now = deps.now?.() ?? new Date();
      const { id, key } = await createApiKey(deps.db, { tenant: callerOf(request).tenant, name, role, now });
      return reply.code(201).send({ key_id: id, name, role, created_at: now.toISOString(), key });
    },
  );
}
