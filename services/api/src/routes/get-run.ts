import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { callerLeft } from '../caller-left.ts';
import { readRunOutcome } from '../use-cases/read-outcome.ts';
import { showRun } from '../use-cases/read-run.ts';
import { MAX_WAIT_MS, waitForRun } from '../use-cases/wait-for-run.ts';
import { revisionNumber, runParams } from '../wire/field-schemas.ts';
import { json, refusals } from '../wire/responses.ts';
import { safeRunSchema } from '../wire/safe-run.ts';

const runSchema = safeRunSchema
  .extend({
    envelope: z.unknown().optional().describe('With `include=envelope`, of a run that has one.'),
    failure: z
      .object({ code: z.string(), message: z.string().optional() })
      .optional()
      .describe('With `include=envelope`, of a run that failed.'),
  })
  .meta({ id: 'RunWithOutcome' });

/** GET /v1/runs/:run_id, at once or when there is something new. */
export function getRunRoute(api: Api, deps: ApiDeps): void {
  api.get(
    '/v1/runs/:run_id',
    {
      config: { access: 'reader' },
      schema: {
        operationId: 'getRun',
        tags: ['runs'],
        summary: 'One run: its status, how far it is, what it left behind.',
        description:
          'With `wait_ms` the answer comes when the run is over or interrupted, or when the time is over. With `after_revision` it also comes when anything is newer than that, and an interruption that is not newer does not end the wait.',
        params: runParams,
        querystring: z.strictObject({
          wait_ms: z.coerce.number().int().min(0).max(MAX_WAIT_MS).optional(),
          after_revision: revisionNumber.optional().describe('`checkpoint_revision` of the run as it was seen last.'),
          include: z.enum(['envelope']).optional(),
        }),
        response: { 200: json('The run.', runSchema), ...refusals },
      },
    },
    async (request, reply) => {
      const reader = { caller: callerOf(request) };
      const { wait_ms: waitMs = 0, after_revision: afterRevision, include } = request.query;
      const signal = waitMs === 0 ? undefined : callerLeft(reply);
      const run = await waitForRun(deps, reader, request.params.run_id, { waitMs, afterRevision, signal });
      const safe = await showRun(deps, reader, run);
      return include === undefined ? safe : { ...safe, ...(await readRunOutcome(deps, reader, run)) };
    },
  );
}
