import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { showRun } from '../use-cases/read-run.ts';
import { startRun } from '../use-cases/start-run.ts';
import { id, idempotencyKey, instant, line, scopeName, sessionHeaders } from '../wire/field-schemas.ts';
import { json, refusals } from '../wire/responses.ts';
import { PRIORITIES, safeRunSchema } from '../wire/safe-run.ts';

const runRequest = z
  .strictObject({
    runbook: line(128),
    version: line(128).optional(),
    input: z.record(z.string(), z.unknown()).describe("The runbook's input; uploads are named by their refs."),
    now: instant.optional().describe('The instant to judge by; default the instant of acceptance.'),
    priority: z.enum(PRIORITIES).optional(),
    parent_run_id: id.optional(),
    canary_percent: z
      .number()
      .gt(0)
      .max(100)
      .optional()
      .describe("The share of targets that goes first, over the runbook's own. Fleets only."),
    scope: scopeName
      .optional()
      .describe(
        'What the run sweeps: runs of one runbook and scope are compared with each other. Default: the digest of the input, and none where it names uploads. Fleets only.',
      ),
    callback: z
      .strictObject({
        url: z.string().min(1).max(2048).describe('https or http, a public address.'),
        secret: z
          .string()
          .regex(/^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/, 'whsec_ and 24 to 64 bytes in Base64')
          .optional()
          .describe('What it is signed with (Standard Webhooks). Without one it is not signed. Never shown again.'),
      })
      .optional()
      .describe('Where the answer is posted when the run is over.'),
    dry_run: z.boolean().optional().describe('Count subjects and targets, and assess nothing. Fleets only.'),
  })
  .meta({ id: 'RunRequest' });

/** POST /v1/runs: the answer comes when the run is stored, not when it is done. */
export function startRunRoute(api: Api, deps: ApiDeps): void {
  api.post(
    '/v1/runs',
    {
      config: { access: 'runner' },
      schema: {
        operationId: 'startRun',
        tags: ['runs'],
        summary: 'Start a run.',
        description:
          'With an `Idempotency-Key` the same request gives the same run, however often it is sent; another request with that key is a conflict.',
        body: runRequest,
        querystring: z.strictObject({}),
        headers: sessionHeaders.extend({
          'idempotency-key': idempotencyKey.optional(),
        }),
        response: {
          200: json('The run that this request started before.', safeRunSchema),
          202: json('Accepted: the run is stored and will be worked on.', safeRunSchema),
          ...refusals,
        },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request);
      const name = request.headers['muster-session'] ?? 'default';
      const { run, replayed } = await startRun(deps, caller, request.body, {
        session: { keyId: caller.keyId, name },
        idempotencyKey: request.headers['idempotency-key'],
      });
      request.runId = run.id;
      reply.header('location', `/v1/runs/${run.id}`);
      if (replayed) reply.header('idempotency-replayed', 'true');
      return reply.code(replayed ? 200 : 202).send(await showRun(deps, { caller }, run));
    },
  );
}
