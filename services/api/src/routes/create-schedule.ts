import { scheduleDeclarationSchema } from '@muster/schedules';
import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { makeSchedule } from '../use-cases/define-schedule.ts';
import { showSchedule } from '../use-cases/read-schedules.ts';
import { json, refusals } from '../wire/responses.ts';
import { scheduleSchema } from '../wire/schedule.ts';

/** POST /v1/schedules */
export function createScheduleRoute(api: Api, deps: ApiDeps): void {
  api.post(
    '/v1/schedules',
    {
      config: { access: 'admin' },
      schema: {
        operationId: 'createSchedule',
        tags: ['schedules'],
        summary: 'Make a schedule. The runbook has to be offered here, and take the input.',
        querystring: z.strictObject({}),
        body: scheduleDeclarationSchema,
        response: { 201: json('Made: it is active from now on.', scheduleSchema), ...refusals },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const schedule = await makeSchedule(deps, caller, request.body);
      reply.header('location', `/v1/schedules/${schedule.name}`);
      return reply.code(201).send(showSchedule(caller, schedule));
    },
  );
}
