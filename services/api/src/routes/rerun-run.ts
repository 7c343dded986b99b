import { SUBJECT_ENDS } from '@muster/results';
import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { showRun } from '../use-cases/read-run.ts';
import { rerunRun } from '../use-cases/rerun-run.ts';
import { idempotencyKey, instant, runParams } from '../wire/field-schemas.ts';
import { json, refusals } from '../wire/responses.ts';
import { PRIORITIES, safeRunSchema } from '../wire/safe-run.ts';

const MAX_SUBJECTS = 1000;
const MAX_KEY_LENGTH = 1024;

const subjectKey = z
  .string()
  .min(1)
  .max(MAX_KEY_LENGTH)
  .refine((text) => text.isWellFormed() && !text.includes('\0'), 'text without NUL');

const rerunRequest = z
  .strictObject({
    only: z
      .array(z.enum(SUBJECT_ENDS))
      .min(1)
      .max(SUBJECT_ENDS.length)
      .optional()
      .describe('Subjects that ended in one of these ways.'),
    subjects: z.array(subjectKey).min(1).max(MAX_SUBJECTS).optional().describe('Subjects of these keys.'),
    now: instant.optional().describe('The instant to judge by; default the instant of acceptance.'),
    priority: z.enum(PRIORITIES).optional(),
    dry_run: z.boolean().optional().describe('Count what would be done again, and assess nothing.'),
  })
  .refine(({ only, subjects }) => (only === undefined) !== (subjects === undefined), 'exactly one of only and subjects')
  .meta({ id: 'RerunRequest' });

const startedRerun = safeRunSchema
  .extend({
    source_definition_version: z.string(),
    source_definition_digest: z.string(),
    definition_changed: z.boolean().describe('The runbook is not the one that judged the run before.'),
  })
  .meta({ id: 'StartedRerun' });

/** POST /v1/runs/:run_id/rerun */
export function rerunRunRoute(api: Api, deps: ApiDeps): void {
  api.post(
    '/v1/runs/:run_id/rerun',
    {
      config: { access: 'runner' },
      schema: {
        operationId: 'rerunRun',
        tags: ['runs'],
        summary: 'Do a part of a run that is over again, as a run of its own.',
        description:
          'The same input, the chosen subjects, the runbook as it is offered now. It stands in the session of the run before, and so does its `Idempotency-Key`. Fleets only.',
        params: runParams,
        querystring: z.strictObject({}),
        headers: z.looseObject({ 'idempotency-key': idempotencyKey.optional() }),
        body: rerunRequest,
        response: {
          200: json('The run that this request started before.', startedRerun),
          202: json('Accepted: the run is stored and will be worked on.', startedRerun),
          ...refusals,
        },
      },
    },
    async (request, reply) => {
      const reader = { caller: callerOf(request) };
      const { run_id: sourceId } = request.params;
      const key = request.headers['idempotency-key'];
      const { run, replayed, source } = await rerunRun(deps, reader, sourceId, request.body, key);
      request.runId = run.id;
      reply.header('location', `/v1/runs/${run.id}`);
      if (replayed) reply.header('idempotency-replayed', 'true');
      return reply.code(replayed ? 200 : 202).send({
        ...(await showRun(deps, reader, run)),
        source_definition_version: source.runbookVersion,
        source_definition_digest: source.definitionDigest,
        definition_changed: source.definitionDigest !== run.definitionDigest,
      });
    },
  );
}
