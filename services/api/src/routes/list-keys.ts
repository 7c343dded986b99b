import { listApiKeys } from '@muster/results';
import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { apiKeySchema, describeKey } from '../wire/api-key.ts';
import { json, refusals } from '../wire/responses.ts';

const MAX_KEYS = 1000;

/** GET /v1/keys */
export function listKeys(api: Api, deps: ApiDeps): void {
  api.get(
    '/v1/keys',
    {
      config: { access: 'admin' },
      schema: {
        operationId: 'listKeys',
        tags: ['keys'],
        summary: 'The API keys of the tenant, oldest first, revoked ones too.',
        querystring: z.strictObject({}),
        response: {
          200: json('At most 1,000.', z.object({ keys: z.array(apiKeySchema), truncated: z.boolean() })),
          ...refusals,
        },
      },
    },
    async (request) => {
      const records = await listApiKeys(deps.db, { tenant: callerOf(request).tenant, limit: MAX_KEYS + 1 });
      return { keys: records.slice(0, MAX_KEYS).map(describeKey), truncated: records.length > MAX_KEYS };
    },
  );
}
