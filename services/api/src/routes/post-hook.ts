import { MAX_BODY_BYTES } from '@muster/hooks';
import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { DeliveryKeeper } from '../delivery-keeper.ts';
import { receiveDelivery } from '../use-cases/receive-delivery.ts';
import { receiptOf, receiptSchema } from '../wire/delivery.ts';
import { json, refusals } from '../wire/responses.ts';

const NO_BODY = Buffer.alloc(0);

/** POST /v1/hooks/:name: the answer comes when the delivery is stored, before anything is made of it. */
export function postHook(api: Api, deps: ApiDeps): void {
  const door = { ...deps, keeper: new DeliveryKeeper(deps.db) };
  // Encapsulated, because here the body's bytes are kept as they came: a signature covers them.
  api.register(async (scope: Api) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: MAX_BODY_BYTES }, (_request, body, done) =>
      done(null, body),
    );
    scope.post(
      '/v1/hooks/:name',
      {
        // A sender has no key: the hook's own signature is its proof, and the hook says whose runs they are.
        config: { access: 'signature' },
        bodyLimit: MAX_BODY_BYTES,
        schema: {
          operationId: 'postHook',
          tags: ['hooks'],
          summary: "Take a webhook's delivery.",
          description:
            'The body is verified as it came, by the scheme and the secrets of the hook. The same delivery again gives the same answer, with its runs when they are known.',
          params: z.strictObject({ name: z.string() }),
          response: {
            200: json('Kept before: the same id and body came already.', receiptSchema),
            202: json('Kept: it will be worked on.', receiptSchema),
            ...refusals,
          },
        },
      },
      async (request, reply) => {
        const { delivery, repeated } = await receiveDelivery(door, request.params.name, {
          headers: request.raw.rawHeaders,
          rawBody: Buffer.isBuffer(request.body) ? request.body : NO_BODY,
        });
        return reply.code(repeated ? 200 : 202).send(receiptOf(delivery));
      },
    );
  });
}
