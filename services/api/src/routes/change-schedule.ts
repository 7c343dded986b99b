import { scheduleChangeSchema } from '@muster/schedules';
import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { alterSchedule } from '../use-cases/define-schedule.ts';
import { showSchedule } from '../use-cases/read-schedules.ts';
import { scheduleParams } from '../wire/field-schemas.ts';
import { json, refusals } from '../wire/responses.ts';
import { scheduleSchema } from '../wire/schedule.ts';

/** PATCH /v1/schedules/:name */
export function changeScheduleRoute(api: Api, deps: ApiDeps): void {
  api.patch(
    '/v1/schedules/:name',
    {
      config: { access: 'admin' },
      schema: {
        operationId: 'changeSchedule',
        tags: ['schedules'],
        summary: 'Change what is given of a schedule; the rest stays.',
        description: 'With another timing or jitter its slots begin anew from now on.',
        params: scheduleParams,
        querystring: z.strictObject({}),
        body: scheduleChangeSchema,
        response: { 200: json('The schedule from now on.', scheduleSchema), ...refusals },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      return showSchedule(caller, await alterSchedule(deps, caller, request.params.name, request.body));
    },
  );
}
