import { getTenantQuota } from '@muster/results';
import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { json, refusals } from '../wire/responses.ts';
import { describeQuota, tenantQuotaSchema } from '../wire/tenant-quota.ts';

/** GET /v1/quota */
export function getQuota(api: Api, deps: ApiDeps): void {
  api.get(
    '/v1/quota',
    {
      config: { access: 'admin' },
      schema: {
        operationId: 'getQuota',
        tags: ['quota'],
        summary: "What this key's tenant may have at most; null is no limit.",
        querystring: z.strictObject({}),
        response: { 200: json('The limits.', tenantQuotaSchema), ...refusals },
      },
    },
    async (request) => describeQuota(await getTenantQuota(deps.db, callerOf(request).tenant)),
  );
}
