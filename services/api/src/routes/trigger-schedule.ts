import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { triggerSchedule } from '../use-cases/steer-schedule.ts';
import { scheduleParams } from '../wire/field-schemas.ts';
import { json, refusals } from '../wire/responses.ts';
import { describeTick, tickSchema } from '../wire/tick.ts';

/** POST /v1/schedules/:name/trigger */
export function triggerScheduleRoute(api: Api, deps: ApiDeps): void {
  api.post(
    '/v1/schedules/:name/trigger',
    {
      config: { access: 'runner' },
      schema: {
        operationId: 'triggerSchedule',
        tags: ['schedules'],
        summary: 'Ask for a run of a schedule now, paused or not. What comes of it is a row of its ledger.',
        params: scheduleParams,
        querystring: z.strictObject({}),
        body: z.strictObject({}).nullable(),
        response: {
          200: json('No run came of it, and the row says why.', tickSchema),
          202: json('A run is started, or waits for the end of the one before it.', tickSchema),
          ...refusals,
        },
      },
    },
    async (request, reply) => {
      const tick = await triggerSchedule(deps, callerOf(request), request.params.name);
      request.runId = tick.runId;
      const comes = tick.state === 'started' || tick.state === 'queued';
      return reply.code(comes ? 202 : 200).send(describeTick(tick));
    },
  );
}
