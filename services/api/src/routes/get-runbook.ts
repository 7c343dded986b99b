import { describeRunbook } from '@muster/host';
import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { resolveDefinition } from '../use-cases/resolve-definition.ts';
import { json, refusals } from '../wire/responses.ts';
import { runbookSchema } from '../wire/runbook.ts';

/** GET /v1/runbooks/:name */
export function getRunbook(api: Api, deps: ApiDeps): void {
  api.get(
    '/v1/runbooks/:name',
    {
      config: { access: 'reader' },
      schema: {
        operationId: 'getRunbook',
        tags: ['runbooks'],
        summary: 'One runbook: what it judges, its verdict words, its input.',
        params: z.strictObject({ name: z.string() }),
        querystring: z.strictObject({}),
        response: { 200: json('The runbook.', runbookSchema), ...refusals },
      },
    },
    async (request) => describeRunbook(resolveDefinition(deps, request.params.name)),
  );
}
