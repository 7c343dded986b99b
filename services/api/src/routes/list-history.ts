import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { readHistory } from '../use-cases/read-history.ts';
import { id, pageLimit, revisionNumber, runParams } from '../wire/field-schemas.ts';
import { historySchema } from '../wire/history.ts';
import { json, refusals } from '../wire/responses.ts';

/** GET /v1/runs/:run_id/history */
export function listHistory(api: Api, deps: ApiDeps): void {
  api.get(
    '/v1/runs/:run_id/history',
    {
      config: { access: 'reader' },
      schema: {
        operationId: 'listHistory',
        tags: ['runs'],
        summary: 'What happened to a run, in order. Both cursors of a page together give the next one.',
        params: runParams,
        querystring: z.strictObject({
          after_revision: revisionNumber.optional(),
          after_event_id: id.optional(),
          limit: pageLimit(100, 50),
        }),
        response: { 200: json('A page.', historySchema), ...refusals },
      },
    },
    async (request) => readHistory(deps, { caller: callerOf(request) }, request.params.run_id, request.query),
  );
}
