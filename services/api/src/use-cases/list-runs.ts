import { findSession, listRuns, type RunStatus, type SessionChoice } from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import type { Caller } from '../caller.ts';
import { type SafeRun, safeRun } from '../wire/safe-run.ts';

export interface ListRunsQuery {
  readonly status?: RunStatus | undefined;
  readonly runbook?: string | undefined;
  /** A session's id, the name of one of the caller's own, or of a hook or a schedule (`hook:NAME`, `schedule:NAME`). */
  readonly session?: string | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface SafeRunPage {
  readonly runs: SafeRun[];
  readonly next_after?: string;
}

/** Runs, newest first. A session that does not exist has none. @throws UnknownCursorError */
export async function listSafeRuns(deps: ApiDeps, caller: Caller, query: ListRunsQuery): Promise<SafeRunPage> {
  const { session, status, runbook, after, limit } = query;
  const sessionId = session === undefined ? undefined : await findSessionId(deps, caller, session);
  if (session !== undefined && sessionId === undefined) return { runs: [] };
  const page = await listRuns(deps.db, {
    tenant: caller.tenant,
    limit,
    ...(sessionId !== undefined && { sessionId }),
    ...(status !== undefined && { status }),
    ...(runbook !== undefined && { runbook }),
    ...(after !== undefined && { after }),
  });
  const runs = page.runs.map((run) => safeRun(run));
  return { runs, ...(page.nextAfter !== undefined && { next_after: page.nextAfter }) };
}

async function findSessionId(deps: ApiDeps, caller: Caller, session: string): Promise<string | undefined> {
  const isId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(session);
  const find = async (choice: SessionChoice) => (await findSession(deps.db, caller.tenant, choice))?.id;
  if (isId) return await find({ id: session });
  // A name of the caller's own goes first; Muster's own sessions are those of hooks and schedules.
  return (await find({ keyId: caller.keyId, name: session })) ?? (await find({ keyId: null, name: session }));
}
