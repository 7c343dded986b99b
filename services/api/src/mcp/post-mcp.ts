/**
 * MCP over streamable HTTP (the official SDK), at `POST /mcp`.
 *
 * Invariants:
 * - any process serves any request: nothing of a connection is kept here, and who asks is read from each request anew. An
 *   `Mcp-Session-Id` is given and taken, but it only tells the requests of one client apart, to cancel the right one;
 * - whoever goes away while waiting gives its place free at once;
 * - a web page in somebody's browser is no client: `Origin` headers of anything but this machine are refused.
 */
import { randomUUID } from 'node:crypto';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import type { RequestId } from '@modelcontextprotocol/sdk/types.js';
import { isPlainObject } from '@muster/envelope';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { logSurprise } from '../access-log.ts';
import type { Api } from '../api.ts';
import { asProblem } from '../as-problem.ts';
import { callerOf } from '../authenticate.ts';
import { Problem } from '../problems.ts';
import { sessionHeaders } from '../wire/field-schemas.ts';
import { json, nothing, refusals } from '../wire/responses.ts';
import type { AgentTools } from './agent-tools.ts';
import { InFlight } from './in-flight.ts';
import { mcpServer } from './mcp-server.ts';

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);
const CONNECTION_PATTERN = /^[\x21-\x7e]{1,128}$/;
const PASSED_HEADERS = ['accept', 'content-type', 'mcp-protocol-version'];

const rpcMessage = z.looseObject({ jsonrpc: z.enum(['2.0']) }).meta({ id: 'RpcMessage' });

/** POST /mcp */
export function postMcp(api: Api, tools: AgentTools): void {
  const inFlight = new InFlight();
  api.post(
    '/mcp',
    {
      config: { access: 'reader' },
      schema: {
        operationId: 'callMcp',
        tags: ['agents'],
        summary: 'The Model Context Protocol over streamable HTTP: one JSON-RPC message a request.',
        description:
          'Tool calls are answered with an event stream, everything else with JSON. There is no stream for GET and nothing to DELETE: runs belong to the session that `Muster-Session` names, and any client with the same key finds them there.',
        headers: sessionHeaders.extend({
          'mcp-session-id': z.string().optional(),
          'mcp-protocol-version': z.string().optional(),
        }),
        body: z.unknown(),
        querystring: z.strictObject({}),
        response: {
          200: json('The answer.', rpcMessage),
          202: nothing.describe('A notification was taken.'),
          400: json('No message, or one of a version that is not spoken here.', rpcMessage),
          406: json('The client does not take both JSON and event streams.', rpcMessage),
          ...refusals,
        },
      },
    },
    async (request, reply) => {
      refuseForeignPages(request.headers.origin);
      const body = request.body;
      const connection = connectionOf(request);
      const identity = { keyId: callerOf(request).keyId, connection };
      const cancelled = cancelledId(body);
      if (cancelled !== undefined) inFlight.cancel({ ...identity, requestId: cancelled });

      const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: !callsTool(body) });
      const server = mcpServer(tools, {
        caller: callerOf(request),
        session: request.headers['muster-session'] ?? 'default',
        onRun: (runId) => {
          request.runId = runId;
        },
        onError: (error) => logSurprise(request, asProblem(error)),
      });
      const forget = inFlight.add({ ...identity, requestId: requestId(body) }, () => void server.close());
      reply.raw.once('close', () => {
        forget();
        void server.close();
      });
      await server.connect(transport);
      const answer = await transport.handleRequest(webRequest(request), { parsedBody: body });
      if (isInitialize(body) && answer.ok) reply.header('mcp-session-id', connection ?? randomUUID());
      return reply.send(answer as never);
    },
  );
}

/** A page that got itself a name of this machine (DNS rebinding) has an Origin of its own. */
function refuseForeignPages(origin: string | undefined): void {
  if (origin === undefined || !/^https?:/i.test(origin)) return;
  if (URL.canParse(origin) && LOOPBACK.has(new URL(origin).hostname)) return;
  throw new Problem('forbidden', 'requests from web pages of other origins are not taken here');
}

function webRequest(request: FastifyRequest): Request {
  const headers = new Headers();
  for (const name of PASSED_HEADERS) {
    const value = request.headers[name];
    if (typeof value === 'string') headers.set(name, value);
  }
  return new Request('http://muster.invalid/mcp', { method: 'POST', headers });
}

function connectionOf({ headers }: FastifyRequest): string | undefined {
  const name = headers['mcp-session-id'];
  return typeof name === 'string' && CONNECTION_PATTERN.test(name) ? name : undefined;
}

function callsTool(body: unknown): boolean {
  return [body].flat().some((message) => isPlainObject(message) && message.method === 'tools/call');
}

function isInitialize(body: unknown): boolean {
  return isPlainObject(body) && body.method === 'initialize';
}

/** The id of the one request in a body. */
function requestId(body: unknown): RequestId | undefined {
  return isPlainObject(body) && isId(body.id) ? body.id : undefined;
}

function cancelledId(body: unknown): RequestId | undefined {
  if (!isPlainObject(body) || body.method !== 'notifications/cancelled' || !isPlainObject(body.params))
    return undefined;
  const { requestId: id } = body.params;
  return isId(id) ? id : undefined;
}

function isId(value: unknown): value is RequestId {
  return typeof value === 'string' || typeof value === 'number';
}
