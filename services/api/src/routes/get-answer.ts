import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { readAnswer } from '../use-cases/read-answer.ts';
import { runParams } from '../wire/field-schemas.ts';
import { json, refusals } from '../wire/responses.ts';

const answerSchema = z
  .object({ kind: z.enum(['envelope', 'absence', 'failure']), body: z.unknown() })
  .meta({ id: 'Answer' });

/** GET /v1/runs/:run_id/answer */
export function getAnswerRoute(api: Api, deps: ApiDeps): void {
  api.get(
    '/v1/runs/:run_id/answer',
    {
      config: { access: 'reader' },
      schema: {
        operationId: 'getAnswer',
        tags: ['runs'],
        summary: 'The one answer of a run that is over, of whatever kind.',
        params: runParams,
        querystring: z.strictObject({}),
        response: { 200: json('The answer.', answerSchema), ...refusals },
      },
    },
    async (request) => {
      const { kind, body } = await readAnswer(deps, { caller: callerOf(request) }, request.params.run_id);
      return { kind, body };
    },
  );
}
