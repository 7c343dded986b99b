import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { showRun } from '../use-cases/read-run.ts';
import { resumeRun } from '../use-cases/resume-run.ts';
import { runParams } from '../wire/field-schemas.ts';
import { json, refusals } from '../wire/responses.ts';
import { safeRunSchema } from '../wire/safe-run.ts';

const resumeRequest = z
  .strictObject({
    resume: z.record(z.string(), z.unknown()).describe('The answer, as `resume_schema` of the question has it.'),
    number: z
      .int()
      .min(1)
      .max(2_147_483_647)
      .optional()
      .describe('The question that is meant; refused when another one is open by now.'),
  })
  .meta({ id: 'ResumeRequest' });

/** POST /v1/runs/:run_id/resume */
export function resumeRunRoute(api: Api, deps: ApiDeps): void {
  api.post(
    '/v1/runs/:run_id/resume',
    {
      // The question itself says which role its answer needs.
      config: { access: 'runner' },
      schema: {
        operationId: 'resumeRun',
        tags: ['interruptions'],
        summary: 'Answer what an interrupted run asks, so that it goes on.',
        description:
          'An answer counts once. `approved: false` to a fleet that asks for approval ends the run as `cancelled`, with everything not checked. The key that started the run may not answer unless the runbook or `MUSTER_SELF_APPROVAL` says so.',
        params: runParams,
        querystring: z.strictObject({}),
        body: resumeRequest,
        response: { 202: json('Taken: the run goes on.', safeRunSchema), ...refusals },
      },
    },
    async (request, reply) => {
      const reader = { caller: callerOf(request) };
      const run = await resumeRun(deps, reader, request.params.run_id, request.body);
      return reply.code(202).send(await showRun(deps, reader, run));
    },
  );
}
