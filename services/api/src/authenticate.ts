/**
 * Every route says who may use it (`config.access`); one that does not is refused when the API is built.
 */
import type { FastifyRequest } from 'fastify';
import type { Api } from './api.ts';
import { type Caller, roleCovers } from './caller.ts';
import type { KeyRing } from './key-ring.ts';
import { Problem } from './problems.ts';

/** Checks the key and the role of each request before anything of it is read. */
export function authenticate(api: Api, keys: KeyRing): void {
  api.decorateRequest('caller', null);
  api.addHook('onRoute', (route) => {
    if (route.config?.access === undefined) throw new Error(`the route ${route.url} does not say who may use it`);
  });
  api.addHook('onRequest', async (request) => {
    if (request.is404) return;
    const { access } = request.routeOptions.config;
    if (access === undefined || access === 'open' || access === 'signature') return;
    const caller = await findCaller(request, keys);
    request.caller = caller;
    if (!roleCovers(caller.role, access)) {
      const detail = `this needs a key of the role ${access}; this key's role is ${caller.role}`;
      throw new Problem('forbidden', detail, { needed_role: access });
    }
  });
}

/** The caller of a route that is not open. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw new Error('the route is open and has no caller');
  return request.caller;
}

async function findCaller(request: FastifyRequest, keys: KeyRing): Promise<Caller> {
  const [, key] = /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '') ?? [];
  const caller = key === undefined ? undefined : await keys.find(key);
  if (caller !== undefined) return caller;
  const detail = key === undefined ? 'there is no `Authorization: Bearer` header' : 'the key is not valid';
  throw new Problem('unauthorized', detail, {}, { headers: { 'www-authenticate': 'Bearer realm="muster"' } });
}
