import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { changeQuota } from '../use-cases/change-quota.ts';
import { json, refusals } from '../wire/responses.ts';
import { tenantQuotaSchema } from '../wire/tenant-quota.ts';

/** PUT /v1/quota */
export function setQuota(api: Api, deps: ApiDeps): void {
  api.put(
    '/v1/quota',
    {
      config: { access: 'admin' },
      schema: {
        operationId: 'setQuota',
        tags: ['quota'],
        summary: "Set all limits of this key's tenant; null is no limit. What is under way already stays.",
        querystring: z.strictObject({}),
        body: tenantQuotaSchema,
        response: { 200: json('The limits from now on.', tenantQuotaSchema), ...refusals },
      },
    },
    async (request) => {
      await changeQuota(deps, callerOf(request), request.body);
      return request.body;
    },
  );
}
