import { scheduleName } from '@muster/schedules';
import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { readSchedules } from '../use-cases/read-schedules.ts';
import { pageLimit } from '../wire/field-schemas.ts';
import { json, refusals } from '../wire/responses.ts';
import { scheduleSchema } from '../wire/schedule.ts';

/** GET /v1/schedules */
export function listSchedulesRoute(api: Api, deps: ApiDeps): void {
  api.get(
    '/v1/schedules',
    {
      config: { access: 'reader' },
      schema: {
        operationId: 'listSchedules',
        tags: ['schedules'],
        summary: 'Schedules of the tenant, by name.',
        querystring: z.strictObject({
          after: scheduleName.optional().describe('`next_after` of the page before.'),
          limit: pageLimit(100, 50),
        }),
        response: {
          200: json('A page.', z.object({ schedules: z.array(scheduleSchema), next_after: z.string().optional() })),
          ...refusals,
        },
      },
    },
    async (request) => readSchedules(deps, callerOf(request), request.query),
  );
}
