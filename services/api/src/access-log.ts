/**
 * The access log: one line a request with the route's pattern, never its values; and the causes of surprises by name and
 * place, never by message, because a foreign message may quote a payload.
 */
import { ArtifactError } from '@muster/artifacts';
import { ResultsError } from '@muster/results';
import type { FastifyRequest } from 'fastify';
import type { Api } from './api.ts';
import type { Problem } from './problems.ts';

export function logAccess(api: Api): void {
  api.decorateRequest('runId', null);
  api.addHook('onResponse', async (request, reply) => {
    const fields = {
      method: request.method,
      route: request.routeOptions.url ?? 'none',
      status: reply.statusCode,
      duration_ms: Math.round(reply.elapsedTime),
      ...whoAndWhat(request),
    };
    request.log.info(fields, 'request');
  });
}

/** Logs what is behind a 5xx. */
export function logSurprise(request: FastifyRequest, problem: Problem): void {
  if (problem.status < 500) return;
  request.log.error(
    { code: problem.code, ...whoAndWhat(request), cause: describeCause(problem.cause) },
    'request failed',
  );
}

function whoAndWhat(request: FastifyRequest): Record<string, string> {
  return {
    ...(request.caller !== null && { tenant: request.caller.tenant, key_id: request.caller.keyId }),
    ...runOf(request),
  };
}

/** The run of the path, once it was checked to be an id; or the one that was just started. */
function runOf(request: FastifyRequest): { run_id?: string } {
  const { run_id: id } = (request.params ?? {}) as { run_id?: unknown };
  if (typeof id === 'string' && /^[0-9a-f-]{36}$/i.test(id)) return { run_id: id };
  return request.runId === null ? {} : { run_id: request.runId };
}

function describeCause(cause: unknown): Record<string, unknown> | undefined {
  if (!(cause instanceof Error)) return cause === undefined ? undefined : { name: typeof cause };
  const isOurs = cause instanceof ResultsError || cause instanceof ArtifactError;
  const frames = (cause.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return {
    name: cause.name,
    code: (cause as { code?: unknown }).code,
    ...(isOurs && { message: cause.message }),
    at: frames.slice(0, 8).map((frame) => frame.trim()),
  };
}
