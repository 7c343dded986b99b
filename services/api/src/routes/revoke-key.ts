import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import type { KeyRing } from '../key-ring.ts';
import { revokeKey } from '../use-cases/revoke-key.ts';
import { id } from '../wire/field-schemas.ts';
import { nothing, refusals } from '../wire/responses.ts';

/** DELETE /v1/keys/:key_id */
export function revokeKeyRoute(api: Api, deps: ApiDeps, keys: KeyRing): void {
  api.delete(
    '/v1/keys/:key_id',
    {
      config: { access: 'admin' },
      schema: {
        operationId: 'revokeKey',
        tags: ['keys'],
        summary: 'Revoke an API key. Other API processes refuse it within seconds.',
        params: z.strictObject({ key_id: id }),
        querystring: z.strictObject({}),
        response: { 204: nothing.describe('Revoked.'), ...refusals },
      },
    },
    async (request, reply) => {
      await revokeKey(deps, callerOf(request), request.params.key_id).finally(() => keys.forget());
      return reply.code(204).send();
    },
  );
}
