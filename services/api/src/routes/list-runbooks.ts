import { describeRunbook } from '@muster/host';
import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { json, refusals } from '../wire/responses.ts';
import { runbookSchema } from '../wire/runbook.ts';

/** GET /v1/runbooks */
export function listRunbooks(api: Api, deps: ApiDeps): void {
  const runbooks = [...deps.catalog.byName.values()].map(describeRunbook);
  api.get(
    '/v1/runbooks',
    {
      config: { access: 'reader' },
      schema: {
        operationId: 'listRunbooks',
        tags: ['runbooks'],
        summary: 'Every runbook that can be run here.',
        querystring: z.strictObject({}),
        response: { 200: json('The runbooks.', z.object({ runbooks: z.array(runbookSchema) })), ...refusals },
      },
    },
    async () => ({ runbooks }),
  );
}
