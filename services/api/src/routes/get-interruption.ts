import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { readInterruption } from '../use-cases/read-interruption.ts';
import { runParams } from '../wire/field-schemas.ts';
import { interruptionSchema } from '../wire/interruption.ts';
import { json, refusals } from '../wire/responses.ts';

/** GET /v1/runs/:run_id/interruption */
export function getInterruption(api: Api, deps: ApiDeps): void {
  api.get(
    '/v1/runs/:run_id/interruption',
    {
      config: { access: 'reader' },
      schema: {
        operationId: 'getInterruption',
        tags: ['interruptions'],
        summary: 'What an interrupted run asks, who may answer, until when, and in which form.',
        params: runParams,
        querystring: z.strictObject({}),
        response: { 200: json('The question.', interruptionSchema), ...refusals },
      },
    },
    async (request) => readInterruption(deps, { caller: callerOf(request) }, request.params.run_id),
  );
}
