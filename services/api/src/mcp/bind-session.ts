/**
 * Whose runs a call may see. A session is a row, owned by the key and chosen by name (DESIGN decision 16), so that a client
 * which comes back, an API that was restarted and another replica find the same runs.
 */
import { randomUUID } from 'node:crypto';
import { ensureSession, findSession } from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import type { RunReader } from '../use-cases/find-run.ts';
import type { McpCaller } from './agent-tools.ts';

export interface SessionBinding {
  /** The session that new runs come to stand in. */
  readonly sessionId: string;
  /** Reads that session; with a tenant-wide key the whole tenant. */
  readonly reader: RunReader;
}

/**
 * Finds the session. It is made when a run is to be started in it; until then it has no runs, and an id that nothing has
 * stands for it.
 */
export async function bindSession(
  deps: ApiDeps,
  { caller, session }: Pick<McpCaller, 'caller' | 'session'>,
  options: { readonly starts: boolean },
): Promise<SessionBinding> {
  const owner = { keyId: caller.keyId, name: session };
  const found = options.starts
    ? await ensureSession(deps.db, { tenant: caller.tenant, ...owner, ...(deps.now && { now: deps.now() }) })
    : await findSession(deps.db, caller.tenant, owner);
  const sessionId = found?.id ?? randomUUID();
  return { sessionId, reader: caller.tenantWide ? { caller } : { caller, sessionId } };
}
