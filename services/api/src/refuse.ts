/**
 * Everything that is not answered by a route is a problem document: what a route throws, unknown paths, wrong methods,
 * malformed URLs, and bytes that are no HTTP.
 */
import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { logSurprise } from './access-log.ts';
import type { Api } from './api.ts';
import { asProblem } from './as-problem.ts';
import { PROBLEM_MEDIA_TYPE, Problem, problemDocument } from './problems.ts';
import type { RouteTable } from './route-table.ts';

/** Sets the handlers of errors and of paths that do not exist. */
export function refuseWithProblems(api: Api, table: RouteTable): void {
  api.setErrorHandler((error, request, reply) => sendProblem(asProblem(error), request, reply));
  api.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0] ?? '/';
    const allowed = table.methodsOf(path);
    if (allowed.length === 0) return sendProblem(new Problem('not_found', 'there is no such path'), request, reply);
    const headers = { allow: allowed.join(', ') };
    const detail = `this path has ${headers.allow}, not ${request.method}`;
    return sendProblem(new Problem('method_not_allowed', detail, {}, { headers }), request, reply);
  });
}

/** Answers with a problem document. */
export function sendProblem(problem: Problem, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  logSurprise(request, problem);
  // What the route has set for its own answer does not hold for this one.
  for (const name of ['content-length', 'content-range', 'content-disposition', 'etag', 'accept-ranges', 'location']) {
    reply.removeHeader(name);
  }
  return reply
    .code(problem.status)
    .headers({ 'cache-control': 'no-store', ...problem.headers })
    .type(PROBLEM_MEDIA_TYPE)
    .send(JSON.stringify(problemDocument(problem, request.id)));
}

/** Answers a client whose bytes are no request, on the bare socket. */
export function refuseSocket(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const problem = socketProblem(error.code);
  const body = JSON.stringify(problemDocument(problem, randomUUID()));
  const head = [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
    `content-type: ${PROBLEM_MEDIA_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

function socketProblem(code: string | undefined): Problem {
  if (code === 'HPE_HEADER_OVERFLOW') return new Problem('headers_too_large', 'the headers are larger than 16 KiB');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Problem('request_timeout', 'the request was not whole in time');
  return new Problem('invalid_http', 'the request is not well-formed HTTP');
}
