import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { replayDelivery } from '../use-cases/replay-delivery.ts';
import { deliverySchema } from '../wire/delivery.ts';
import { deliveryParams } from '../wire/field-schemas.ts';
import { json, refusals } from '../wire/responses.ts';

/** POST /v1/deliveries/:delivery_id/replay */
export function replayDeliveryRoute(api: Api, deps: ApiDeps): void {
  api.post(
    '/v1/deliveries/:delivery_id/replay',
    {
      config: { access: 'runner' },
      schema: {
        operationId: 'replayDelivery',
        tags: ['hooks'],
        summary: 'Work on a delivery once more, as a new one that names it.',
        description:
          'The hook is taken as it is declared now. A replay begins runs of its own: it joins none that is there.',
        params: deliveryParams,
        querystring: z.strictObject({}),
        response: { 202: json('Kept: it will be worked on.', deliverySchema), ...refusals },
      },
    },
    async (request, reply) => {
      const replay = await replayDelivery(deps, callerOf(request), request.params.delivery_id);
      return reply.code(202).header('location', `/v1/deliveries/${replay.delivery_id}`).send(replay);
    },
  );
}
