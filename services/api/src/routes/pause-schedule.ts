import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { showSchedule } from '../use-cases/read-schedules.ts';
import { holdSchedule } from '../use-cases/steer-schedule.ts';
import { line, scheduleParams } from '../wire/field-schemas.ts';
import { json, refusals } from '../wire/responses.ts';
import { scheduleSchema } from '../wire/schedule.ts';

/** POST /v1/schedules/:name/pause */
export function pauseScheduleRoute(api: Api, deps: ApiDeps): void {
  api.post(
    '/v1/schedules/:name/pause',
    {
      config: { access: 'runner' },
      schema: {
        operationId: 'pauseSchedule',
        tags: ['schedules'],
        summary: 'Pause a schedule: nothing of it is due until it is resumed. A run that is open goes on.',
        params: scheduleParams,
        querystring: z.strictObject({}),
        body: z.strictObject({ reason: line(256).optional() }).nullable(),
        response: { 200: json('The schedule, paused.', scheduleSchema), ...refusals },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      return showSchedule(caller, await holdSchedule(deps, caller, request.params.name, request.body?.reason));
    },
  );
}
