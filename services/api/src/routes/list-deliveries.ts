import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { readDeliveries } from '../use-cases/read-deliveries.ts';
import { DELIVERY_STATES, deliverySchema } from '../wire/delivery.ts';
import { id, line, pageLimit } from '../wire/field-schemas.ts';
import { json, refusals } from '../wire/responses.ts';

/** GET /v1/deliveries */
export function listDeliveriesRoute(api: Api, deps: ApiDeps): void {
  api.get(
    '/v1/deliveries',
    {
      config: { access: 'reader' },
      schema: {
        operationId: 'listDeliveries',
        tags: ['hooks'],
        summary: 'Deliveries of webhooks, newest first, and what came of them.',
        querystring: z.strictObject({
          hook: line(64).optional(),
          state: z.enum(DELIVERY_STATES).optional(),
          after: id.optional().describe('`next_after` of the page before.'),
          limit: pageLimit(100, 50),
        }),
        response: {
          200: json('A page.', z.object({ deliveries: z.array(deliverySchema), next_after: z.string().optional() })),
          ...refusals,
        },
      },
    },
    async (request) => readDeliveries(deps, callerOf(request), request.query),
  );
}
