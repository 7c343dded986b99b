import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { readSchedule } from '../use-cases/read-schedules.ts';
import { scheduleParams } from '../wire/field-schemas.ts';
import { json, refusals } from '../wire/responses.ts';
import { scheduleSchema } from '../wire/schedule.ts';

/** GET /v1/schedules/:name */
export function getSchedule(api: Api, deps: ApiDeps): void {
  api.get(
    '/v1/schedules/:name',
    {
      config: { access: 'reader' },
      schema: {
        operationId: 'getSchedule',
        tags: ['schedules'],
        summary: 'A schedule, with the next five instants that it is due at.',
        params: scheduleParams,
        querystring: z.strictObject({}),
        response: { 200: json('The schedule.', scheduleSchema), ...refusals },
      },
    },
    async (request) => readSchedule(deps, callerOf(request), request.params.name),
  );
}
