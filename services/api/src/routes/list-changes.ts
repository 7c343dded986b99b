import { CHANGE_WORDS } from '@muster/results';
import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { readChanges } from '../use-cases/read-changes.ts';
import { changePageSchema } from '../wire/changes.ts';
import { line, pageLimit, runParams } from '../wire/field-schemas.ts';
import { json, refusals } from '../wire/responses.ts';

const changeWords = z
  .string()
  .max(200)
  .transform((text) => text.split(','))
  .pipe(z.array(z.enum(CHANGE_WORDS)).max(CHANGE_WORDS.length))
  .describe(`Only these, with commas between them: ${CHANGE_WORDS.join(', ')}.`);

/** GET /v1/runs/:run_id/changes */
export function listChanges(api: Api, deps: ApiDeps): void {
  api.get(
    '/v1/runs/:run_id/changes',
    {
      config: { access: 'reader' },
      schema: {
        operationId: 'listChanges',
        tags: ['runs'],
        summary: 'What a run changed since the sweep of its scope before it, the changes to look at first first.',
        description:
          'A run is compared with what was last known of each identity in its scope. What is unknown is never fixed. What goes on well, or is as unknown as before, is counted and not listed.',
        params: runParams,
        querystring: z.strictObject({
          change: changeWords.optional(),
          target: line(1024).optional(),
          after: line(64).optional().describe('`next_after` of the page before.'),
          limit: pageLimit(1000, 100),
        }),
        response: { 200: json('A page.', changePageSchema), ...refusals },
      },
    },
    async (request) => {
      const { change: changes, ...query } = request.query;
      return await readChanges(deps, { caller: callerOf(request) }, request.params.run_id, { ...query, changes });
    },
  );
}
