import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { readDeliveryDetails } from '../use-cases/read-deliveries.ts';
import { deliveryDetailsSchema } from '../wire/delivery.ts';
import { deliveryParams } from '../wire/field-schemas.ts';
import { json, refusals } from '../wire/responses.ts';

/** GET /v1/deliveries/:delivery_id */
export function getDeliveryRoute(api: Api, deps: ApiDeps): void {
  api.get(
    '/v1/deliveries/:delivery_id',
    {
      config: { access: 'reader' },
      schema: {
        operationId: 'getDelivery',
        tags: ['hooks'],
        summary: 'A delivery: what came of each of its alerts, and for admins what was sent, without secrets.',
        params: deliveryParams,
        querystring: z.strictObject({}),
        response: { 200: json('The delivery.', deliveryDetailsSchema), ...refusals },
      },
    },
    async (request) => readDeliveryDetails(deps, callerOf(request), request.params.delivery_id),
  );
}
