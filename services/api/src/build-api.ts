/**
 * The HTTP application apart from listening.
 *
 * Invariants: every route says who may use it, every refusal is a problem document, requests are strict JSON against
 * closed schemas, and logs hold route patterns and ids, never values, headers or bodies.
 */
import { randomUUID } from 'node:crypto';
import { faultSentence, fieldFaults } from '@muster/host';
import { parseStrictJson } from '@muster/workflow-tools';
import Fastify, { type FastifyHttpOptions, LogController, type RawServerDefault } from 'fastify';
import { serializerCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { logAccess } from './access-log.ts';
import type { Api } from './api.ts';
import type { ApiDeps, ApiOptions } from './api-deps.ts';
import { asProblem } from './as-problem.ts';
import { authenticate } from './authenticate.ts';
import { KeyRing } from './key-ring.ts';
import { describeApi } from './openapi.ts';
import { Problem } from './problems.ts';
import { refuseSocket, refuseWithProblems, sendProblem } from './refuse.ts';
import { RouteTable } from './route-table.ts';
import { registerRoutes } from './routes.ts';
import { RunChanges } from './run-changes.ts';

const JSON_BODY_BYTES = 1024 * 1024;
/** A socket on which nothing moves for this long is closed. */
const IDLE_SOCKET_MS = 120_000;
/** A request must be whole within this time, the largest upload included. */
const WHOLE_REQUEST_MS = 30 * 60_000;
const MAX_PARAM_LENGTH = 256;
const MAX_WAITERS = 10_000;

const PART_NAMES: Readonly<Record<string, string>> = {
  body: 'body',
  querystring: 'query',
  params: 'path',
  headers: 'header',
};

export interface BuiltApi {
  readonly api: Api;
  /** Every route, once `api.ready()` has resolved. */
  readonly table: RouteTable;
  /** Who waits for runs here; it ends with the application. */
  readonly changes: RunChanges;
}

/** Builds the application. The stores in `options` stay the caller's to close, after `api.close()`. */
export function buildApi(options: ApiOptions): BuiltApi {
  const deps: ApiDeps = { ...options, changes: watchChanges(options) };
  const api: Api = Fastify({
    ...serverOptions,
    loggerInstance: deps.logger,
    frameworkErrors: (error, request, reply) => void sendProblem(asProblem(error), request, reply as never),
  } as FastifyHttpOptions<RawServerDefault, ApiOptions['logger']>).withTypeProvider<ZodTypeProvider>() as never;
  const keys = new KeyRing(deps.db, deps.now === undefined ? undefined : () => deps.now!().getTime());
  const table = new RouteTable(api);
  api.setValidatorCompiler(({ schema, httpPart }) => checkPart(schema as z.ZodType, httpPart));
  api.setSerializerCompiler(serializerCompiler);
  readStrictJson(api);
  refuseWithProblems(api, table);
  logAccess(api);
  authenticate(api, keys);
  api.addHook('onSend', async (request, reply) => {
    reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff');
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store');
  });
  describeApi(api);
  // Before the server stops taking requests: whoever waits is answered with what is known.
  api.addHook('preClose', () => deps.changes.close());
  api.register(async (scope) => registerRoutes(scope as unknown as Api, deps, keys));
  return { api, table, changes: deps.changes };
}

function watchChanges({ db, logger, maxWaiters = MAX_WAITERS }: ApiOptions): RunChanges {
  const onError = (error: unknown) => {
    const code = (error as { code?: unknown } | null)?.code;
    logger.warn({ code: typeof code === 'string' ? code : 'unknown' }, 'listening for changes of runs was interrupted');
  };
  return new RunChanges(db, { maxWaiters, onError });
}

const serverOptions = {
  bodyLimit: JSON_BODY_BYTES,
  connectionTimeout: IDLE_SOCKET_MS,
  requestTimeout: WHOLE_REQUEST_MS,
  keepAliveTimeout: 30_000,
  forceCloseConnections: 'idle',
  genReqId: () => randomUUID(),
  logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'request_id' }),
  routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
  clientErrorHandler: refuseSocket,
  // While it ends, what still comes in on open connections is answered, and the connection closed after it.
  return503OnClosing: false,
} satisfies FastifyHttpOptions<RawServerDefault>;

function readStrictJson(api: Api): void {
  api.removeAllContentTypeParsers();
  api.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, body.length === 0 ? undefined : parseStrictJson(body as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });
}

function checkPart(schema: z.ZodType, httpPart: string | undefined) {
  const root = PART_NAMES[httpPart ?? ''] ?? 'request';
  return (data: unknown) => {
    const parsed = schema.safeParse(data);
    if (parsed.success) return { value: parsed.data };
    const errors = fieldFaults(root, parsed.error.issues);
    return { error: new Problem('invalid_request', faultSentence(errors), { errors }) };
  };
}
