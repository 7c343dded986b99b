import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { dropNotifier, fileOnDemand, readNotifier, readNotifiers, setNotifier } from '../use-cases/notifiers.ts';
import {
  filedNoticeSchema,
  notifierParams,
  notifierRequest,
  notifierSchema,
  setNotifierSchema,
} from '../wire/notifier.ts';
import { json, nothing, refusals } from '../wire/responses.ts';

const none = z.strictObject({});

/** /v1/notifiers: where notices go. */
export function notifierRoutes(api: Api, deps: ApiDeps): void {
  api.get(
    '/v1/notifiers',
    {
      config: { access: 'reader' },
      schema: {
        operationId: 'listNotifiers',
        tags: ['notices'],
        summary: 'Where the notices of the tenant go.',
        querystring: none,
        response: { 200: json('All of them.', z.object({ notifiers: z.array(notifierSchema) })), ...refusals },
      },
    },
    async (request) => ({ notifiers: await readNotifiers(deps, callerOf(request)) }),
  );
  api.get(
    '/v1/notifiers/:name',
    {
      config: { access: 'reader' },
      schema: {
        operationId: 'getNotifier',
        tags: ['notices'],
        summary: 'One notifier.',
        params: notifierParams,
        querystring: none,
        response: { 200: json('The notifier.', notifierSchema), ...refusals },
      },
    },
    async (request) => readNotifier(deps, callerOf(request), request.params.name),
  );
  api.put(
    '/v1/notifiers/:name',
    {
      config: { access: 'admin' },
      schema: {
        operationId: 'setNotifier',
        tags: ['notices'],
        summary: 'Set a notifier as a whole.',
        description:
          'What is left out is its default, but for the secret: it stays, and is made and shown once for a new notifier.',
        params: notifierParams,
        querystring: none,
        body: notifierRequest,
        response: {
          200: json('Changed.', setNotifierSchema),
          201: json('Made.', setNotifierSchema),
          ...refusals,
        },
      },
    },
    async (request, reply) => {
      const { created, ...notifier } = await setNotifier(deps, callerOf(request), request.params.name, request.body);
      return reply.code(created ? 201 : 200).send(notifier);
    },
  );
  api.delete(
    '/v1/notifiers/:name',
    {
      config: { access: 'admin' },
      schema: {
        operationId: 'deleteNotifier',
        tags: ['notices'],
        summary: 'Delete a notifier, with what it still had to send.',
        params: notifierParams,
        querystring: none,
        response: { 204: nothing.describe('Deleted.'), ...refusals },
      },
    },
    async (request, reply) => {
      await dropNotifier(deps, callerOf(request), request.params.name);
      return reply.code(204).send();
    },
  );
  for (const [path, kind, operationId, summary] of ON_DEMAND) {
    api.post(
      path,
      {
        config: { access: 'runner' },
        schema: {
          operationId,
          tags: ['notices'],
          summary,
          params: notifierParams,
          querystring: none,
          response: { 202: json('Filed; a worker sends it.', filedNoticeSchema), ...refusals },
        },
      },
      async (request, reply) =>
        reply.code(202).send(await fileOnDemand(deps, callerOf(request), request.params.name, kind)),
    );
  }
}

const ON_DEMAND = [
  ['/v1/notifiers/:name/test', 'test', 'testNotifier', 'Send a test notice.'],
  ['/v1/notifiers/:name/announce', 'announcement', 'announce', 'Send everything that is known to be wrong now.'],
] as const;
