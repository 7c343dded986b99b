import { Readable } from 'node:stream';
import { z } from 'zod';
import type { Api } from '../api.ts';
import type { ApiDeps } from '../api-deps.ts';
import { callerOf } from '../authenticate.ts';
import { callerLeft } from '../caller-left.ts';
import { findRun } from '../use-cases/find-run.ts';
import { followHistory } from '../use-cases/follow-history.ts';
import { readEventPlace, serverSentEvents } from '../wire/event-stream.ts';
import { runParams } from '../wire/field-schemas.ts';
import { nothing, refusals } from '../wire/responses.ts';

/** GET /v1/runs/:run_id/events: the history as it happens, as server-sent events. */
export function followEvents(api: Api, deps: ApiDeps): void {
  api.get(
    '/v1/runs/:run_id/events',
    {
      config: { access: 'reader' },
      schema: {
        operationId: 'followEvents',
        tags: ['runs'],
        summary: 'What happens to a run, entry by entry, as server-sent events.',
        description:
          "Each event's data is an entry of the history. `Last-Event-ID` goes on behind an event without loss or repeat. The stream ends with the run, and after a quarter of an hour at the latest; asked again behind the last entry of a run that is over it is 204, which tells an `EventSource` to stop.",
        params: runParams,
        querystring: z.strictObject({}),
        headers: z.looseObject({
          'last-event-id': z.string().max(64).optional().describe('The `id` of the last event that was seen.'),
        }),
        response: {
          200: { description: 'The events.', content: { 'text/event-stream': { schema: z.string() } } },
          204: nothing.describe('The run is over, and nothing is behind that event.'),
          ...refusals,
        },
      },
    },
    async (request, reply) => {
      const reader = { caller: callerOf(request) };
      const { run_id: runId } = request.params;
      const place = readEventPlace(request.headers['last-event-id']);
      reply.type('text/event-stream').header('x-accel-buffering', 'no');
      if (request.method === 'HEAD') {
        await findRun(deps, reader, runId);
        return reply.send('' as never);
      }
      const pages = await followHistory(deps, reader, runId, place, callerLeft(reply));
      if (pages === undefined) return reply.code(204).removeHeader('content-type').send(undefined);
      return reply.send(Readable.from(serverSentEvents(pages), { highWaterMark: 1 }) as never);
    },
  );
}
