import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { dropSchedule } from '../use-cases/define-schedule.ts';
import { scheduleParams } from '../wire/field-schemas.ts';
import { nothing, refusals } from '../wire/responses.ts';

/** DELETE /v1/schedules/:name */
export function deleteScheduleRoute(api: Api, deps: ApiDeps): void {
  api.delete(
    '/v1/schedules/:name',
    {
      config: { access: 'admin' },
      schema: {
        operationId: 'deleteSchedule',
        tags: ['schedules'],
        summary: 'Delete a schedule and its ledger. Its runs stay, and one that is open goes on.',
        params: scheduleParams,
        querystring: z.strictObject({}),
        response: { 204: nothing.describe('Deleted.'), ...refusals },
      },
    },
    async (request, reply) => {
      await dropSchedule(deps, callerOf(request), request.params.name);
      return reply.code(204).send();
    },
  );
}
