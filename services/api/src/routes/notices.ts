import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { readNotices, sendAgain } from '../use-cases/notices.ts';
import { id, line, pageLimit } from '../wire/field-schemas.ts';
import { filedNoticeSchema, NOTICE_STATES, noticeSchema, notifierName } from '../wire/notifier.ts';
import { json, refusals } from '../wire/responses.ts';

/** /v1/notices: what was filed, and what became of it. */
export function noticeRoutes(api: Api, deps: ApiDeps): void {
  api.get(
    '/v1/notices',
    {
      config: { access: 'reader' },
      schema: {
        operationId: 'listNotices',
        tags: ['notices'],
        summary: 'Notices of the tenant, newest first, with their attempts.',
        querystring: z.strictObject({
          state: z.enum(NOTICE_STATES).optional(),
          notifier: notifierName.optional(),
          after: line(64).optional().describe('`next_after` of the page before.'),
          limit: pageLimit(100, 50),
        }),
        response: {
          200: json('A page.', z.object({ notices: z.array(noticeSchema), next_after: z.string().optional() })),
          ...refusals,
        },
      },
    },
    async (request) => readNotices(deps, callerOf(request), request.query),
  );
  api.post(
    '/v1/notices/:notice_id/replay',
    {
      config: { access: 'runner' },
      schema: {
        operationId: 'replayNotice',
        tags: ['notices'],
        summary: 'Send a notice that is over once more, as it was, under an id of its own.',
        params: z.strictObject({ notice_id: id }),
        querystring: z.strictObject({}),
        response: { 202: json('Filed; a worker sends it.', filedNoticeSchema), ...refusals },
      },
    },
    async (request, reply) => reply.code(202).send(await sendAgain(deps, callerOf(request), request.params.notice_id)),
  );
}
