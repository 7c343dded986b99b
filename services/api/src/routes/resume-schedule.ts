import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { showSchedule } from '../use-cases/read-schedules.ts';
import { releaseSchedule } from '../use-cases/steer-schedule.ts';
import { scheduleParams } from '../wire/field-schemas.ts';
import { json, refusals } from '../wire/responses.ts';
import { scheduleSchema } from '../wire/schedule.ts';

/** POST /v1/schedules/:name/resume */
export function resumeScheduleRoute(api: Api, deps: ApiDeps): void {
  api.post(
    '/v1/schedules/:name/resume',
    {
      config: { access: 'runner' },
      schema: {
        operationId: 'resumeSchedule',
        tags: ['schedules'],
        summary: 'Let a paused schedule go on with its first slot from now on. Slots of the pause are not caught up.',
        params: scheduleParams,
        querystring: z.strictObject({}),
        body: z.strictObject({}).nullable(),
        response: { 200: json('The schedule, active.', scheduleSchema), ...refusals },
      },
    },
    async (request) => {
      const caller = callerOf(request);
      return showSchedule(caller, await releaseSchedule(deps, caller, request.params.name));
    },
  );
}
