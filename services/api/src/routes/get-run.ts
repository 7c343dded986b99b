import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { readRun } from '../use-cases/read-run.ts';
import { runParams } from '../wire/field-schemas.ts';
import { json, refusals } from '../wire/responses.ts';
import { safeRunSchema } from '../wire/safe-run.ts';

/** GET /v1/runs/:run_id */
export function getRunRoute(api: Api, deps: ApiDeps): void {
  api.get(
    '/v1/runs/:run_id',
    {
      config: { access: 'reader' },
      schema: {
        operationId: 'getRun',
        tags: ['runs'],
        summary: 'One run: its status, how far it is, what it left behind.',
        params: runParams,
        querystring: z.strictObject({}),
        response: { 200: json('The run.', safeRunSchema), ...refusals },
      },
    },
    async (request) => readRun(deps, { caller: callerOf(request) }, request.params.run_id),
  );
}
