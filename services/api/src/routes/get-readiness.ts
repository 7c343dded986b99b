import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { Problem } from '../problems.ts';
import { checkReadiness } from '../use-cases/check-readiness.ts';
import { json, refusals } from '../wire/responses.ts';

const check = z.object({ ok: z.boolean(), why: z.string().optional() });

/** GET /readyz: everything that requests need can be reached. */
export function getReadiness(api: Api, deps: ApiDeps): void {
  api.get(
    '/readyz',
    {
      config: { access: 'open' },
      schema: {
        operationId: 'getReadiness',
        tags: ['operation'],
        summary: 'Whether requests can be served; the problem document names what is missing.',
        querystring: z.strictObject({}),
        response: {
          200: json(
            'Ready.',
            z.object({ status: z.literal('ready'), checks: z.object({ database: check, artifacts: check }) }),
          ),
          ...refusals,
        },
      },
    },
    async () => {
      const checks = await checkReadiness(deps);
      const missing = Object.entries(checks).filter(([, { ok }]) => !ok);
      if (missing.length === 0) return { status: 'ready' as const, checks };
      throw new Problem('not_ready', `not ready: ${missing.map(([name]) => name).join(', ')}`, { checks });
    },
  );
}
