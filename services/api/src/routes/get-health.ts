import { z } from 'zod';
import type { Api } from '../api.ts';
import { json, refusals } from '../wire/responses.ts';

/** GET /healthz: the process is alive and answers. */
export function getHealth(api: Api): void {
  api.get(
    '/healthz',
    {
      config: { access: 'open' },
      schema: {
        operationId: 'getHealth',
        tags: ['operation'],
        summary: 'Whether the process is alive.',
        querystring: z.strictObject({}),
        response: { 200: json('It is.', z.object({ status: z.literal('alive') })), ...refusals },
      },
    },
    async () => ({ status: 'alive' as const }),
  );
}
