import { Readable } from 'node:stream';
import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { Problem } from '../problems.ts';
import { findRun } from '../use-cases/find-run.ts';
import { listRows } from '../use-cases/list-rows.ts';
import { streamRowsAsCsv, streamRowsAsNdjson } from '../use-cases/stream-rows.ts';
import { line, runParams } from '../wire/field-schemas.ts';
import { refusals } from '../wire/responses.ts';
import { chooseRowFormat, ROW_FORMATS, ROW_MEDIA_TYPES, type RowFormat } from '../wire/row-format.ts';
import { RUN_STATUSES } from '../wire/safe-run.ts';
import { OUTCOMES, STANDINGS, subjectRowSchema } from '../wire/subject-row.ts';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;

const pageSchema = z.object({
  run_id: z.string(),
  run_status: z.enum(RUN_STATUSES),
  rows: z.array(subjectRowSchema),
  next_after: z.string().optional(),
});

const STREAMS = { ndjson: streamRowsAsNdjson, csv: streamRowsAsCsv };

/** GET /v1/runs/:run_id/rows: a page as JSON, or all rows as NDJSON or CSV. */
export function listRowsRoute(api: Api, deps: ApiDeps): void {
  api.get(
    '/v1/runs/:run_id/rows',
    {
      config: { access: 'reader' },
      schema: {
        operationId: 'listRows',
        tags: ['runs'],
        summary: 'The rows of a run, one a subject, in the order of the plan; also while it goes on.',
        description:
          'JSON comes in pages. NDJSON and CSV, asked for by `Accept` or `format`, are the whole run in one stream: one row a line, in CSV with a header and nested names joined by dots. The header `muster-run-status` says whether the run was over.',
        params: runParams,
        querystring: z.strictObject({
          standing: z.enum(STANDINGS).optional(),
          verdict: line(256).optional(),
          outcome: z.enum(OUTCOMES).optional(),
          target: line(1024).optional(),
          include: z.enum(['evidence']).optional(),
          format: z.enum(ROW_FORMATS).optional().describe('Over what `Accept` says.'),
          after: line(64).optional().describe('`next_after` of the page before. JSON alone.'),
          limit: z.coerce
            .number()
            .int()
            .min(1)
            .max(MAX_LIMIT)
            .optional()
            .describe(`Rows of a page, ${DEFAULT_LIMIT} when it is left out. JSON alone.`),
        }),
        headers: z.looseObject({ accept: z.string().optional() }),
        response: {
          200: {
            description: 'A page, or all rows.',
            content: {
              'application/json': { schema: pageSchema },
              'application/x-ndjson': { schema: z.string() },
              'text/csv': { schema: z.string() },
            },
          },
          ...refusals,
        },
      },
    },
    async (request, reply) => {
      const { include, format: asked, after, limit, ...filter } = request.query;
      const reader = { caller: callerOf(request) };
      const query = { ...filter, evidence: include === 'evidence' };
      const format = chooseRowFormat(asked, request.headers.accept);
      reply.header('vary', 'accept');
      if (format === 'json') {
        return await listRows(deps, reader, request.params.run_id, { ...query, after, limit: limit ?? DEFAULT_LIMIT });
      }
      refusePaging(format, { after, limit });
      reply.type(`${ROW_MEDIA_TYPES[format]}; charset=utf-8`);
      if (request.method === 'HEAD') {
        const { status } = await findRun(deps, reader, request.params.run_id);
        return reply.header('muster-run-status', status).send('' as never);
      }
      const { runStatus, text } = await STREAMS[format](deps, reader, request.params.run_id, query);
      const file = `attachment; filename="rows-${request.params.run_id}.${format}"`;
      reply.header('muster-run-status', runStatus).header('content-disposition', file);
      return reply.send(Readable.from(text, { highWaterMark: 1 }) as never);
    },
  );
}

function refusePaging(format: RowFormat, paging: Readonly<Record<'after' | 'limit', unknown>>): void {
  const given = (['after', 'limit'] as const).filter((name) => paging[name] !== undefined);
  if (given.length === 0) return;
  const expected = `no such field: ${format} is always the whole run`;
  const errors = given.map((name) => ({ path: `query/${name}`, expected }));
  throw new Problem('invalid_request', `${errors[0]!.path}: expected ${expected}`, { errors });
}
