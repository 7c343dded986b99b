import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { readMutes, setMute, unmute } from '../use-cases/mutes.ts';
import { id, pageLimit } from '../wire/field-schemas.ts';
import { muteRequest, muteSchema } from '../wire/notifier.ts';
import { json, nothing, refusals } from '../wire/responses.ts';

/** /v1/mutes: what is not told for a while. */
export function muteRoutes(api: Api, deps: ApiDeps): void {
  api.get(
    '/v1/mutes',
    {
      config: { access: 'reader' },
      schema: {
        operationId: 'listMutes',
        tags: ['notices'],
        summary: 'Mutes and windows of maintenance that hold now or will, the one that ends first first.',
        querystring: z.strictObject({ limit: pageLimit(1000, 100) }),
        response: { 200: json('They.', z.object({ mutes: z.array(muteSchema) })), ...refusals },
      },
    },
    async (request) => ({ mutes: await readMutes(deps, callerOf(request), request.query.limit) }),
  );
  api.post(
    '/v1/mutes',
    {
      config: { access: 'runner' },
      schema: {
        operationId: 'mute',
        tags: ['notices'],
        summary: 'Do not tell of some subjects for a while. They stay counted, as muted.',
        description:
          'Everything that is left out is everything: a mute with a reason and an end alone mutes the tenant. With `from` it is a window of maintenance.',
        querystring: z.strictObject({}),
        body: muteRequest,
        response: { 201: json('Set.', muteSchema), ...refusals },
      },
    },
    async (request, reply) => reply.code(201).send(await setMute(deps, callerOf(request), request.body)),
  );
  api.delete(
    '/v1/mutes/:mute_id',
    {
      config: { access: 'runner' },
      schema: {
        operationId: 'unmute',
        tags: ['notices'],
        summary: 'End a mute now. What became a problem under it is told by the next sweep.',
        params: z.strictObject({ mute_id: id }),
        querystring: z.strictObject({}),
        response: { 204: nothing.describe('Ended.'), ...refusals },
      },
    },
    async (request, reply) => {
      await unmute(deps, callerOf(request), request.params.mute_id);
      return reply.code(204).send();
    },
  );
}
