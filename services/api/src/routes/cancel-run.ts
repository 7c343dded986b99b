import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { cancelRun } from '../use-cases/cancel-run.ts';
import { runParams } from '../wire/field-schemas.ts';
import { json, refusals } from '../wire/responses.ts';
import { RUN_STATUSES } from '../wire/safe-run.ts';

const MAX_REASON_BYTES = 512;

const reason = z
  .string()
  .refine((text) => Buffer.byteLength(text) <= MAX_REASON_BYTES, `text of at most ${MAX_REASON_BYTES} bytes`);

const cancelledSchema = z
  .object({ run_id: z.string(), run_status: z.enum(RUN_STATUSES), idempotent: z.boolean() })
  .meta({ id: 'CancelledRun' });

/** POST /v1/runs/:run_id/cancel */
export function cancelRunRoute(api: Api, deps: ApiDeps): void {
  api.post(
    '/v1/runs/:run_id/cancel',
    {
      config: { access: 'runner' },
      schema: {
        operationId: 'cancelRun',
        tags: ['runs'],
        summary: 'Ask for the end of a run. It still gets an answer, and becomes `cancelled` with it.',
        params: runParams,
        querystring: z.strictObject({}),
        body: z.strictObject({ reason: reason.optional() }).nullable(),
        response: {
          200: json('It was cancelled, or asked to be, before.', cancelledSchema),
          202: json('Asked for.', cancelledSchema),
          ...refusals,
        },
      },
    },
    async (request, reply) => {
      const reader = { caller: callerOf(request) };
      const cancelled = await cancelRun(deps, reader, request.params.run_id, request.body?.reason);
      return reply.code(cancelled.idempotent ? 200 : 202).send(cancelled);
    },
  );
}
