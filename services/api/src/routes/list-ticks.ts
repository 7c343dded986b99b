import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { readTicks } from '../use-cases/read-schedules.ts';
import { line, pageLimit, scheduleParams } from '../wire/field-schemas.ts';
import { json, refusals } from '../wire/responses.ts';
import { tickSchema } from '../wire/tick.ts';

/** GET /v1/schedules/:name/ticks */
export function listTicksRoute(api: Api, deps: ApiDeps): void {
  api.get(
    '/v1/schedules/:name/ticks',
    {
      config: { access: 'reader' },
      schema: {
        operationId: 'listTicks',
        tags: ['schedules'],
        summary: 'The ledger of a schedule: what became of each slot that was due, the latest decision first.',
        params: scheduleParams,
        querystring: z.strictObject({
          after: line(64).optional().describe('`next_after` of the page before.'),
          limit: pageLimit(100, 50),
        }),
        response: {
          200: json('A page.', z.object({ ticks: z.array(tickSchema), next_after: z.string().optional() })),
          ...refusals,
        },
      },
    },
    async (request) => readTicks(deps, callerOf(request), request.params.name, request.query),
  );
}
