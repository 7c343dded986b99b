import { getRun, type RunRecord } from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import type { Caller } from '../caller.ts';
import { Problem } from '../problems.ts';

/** How a door binds a caller: REST reads the whole tenant, a session's tools read that session. */
export interface RunReader {
  readonly caller: Caller;
  readonly sessionId?: string;
}

/** The scope of a run for the results store. */
export function scopeOfRun(reader: RunReader, runId: string) {
  return {
    tenant: reader.caller.tenant,
    runId,
    ...(reader.sessionId !== undefined && { sessionId: reader.sessionId }),
  };
}

/** The run's row. @throws Problem `run_not_found` */
export async function findRun(deps: ApiDeps, reader: RunReader, runId: string): Promise<RunRecord> {
  const run = await getRun(deps.db, scopeOfRun(reader, runId));
  if (run === undefined) throw runNotFound();
  return run;
}

export function runNotFound(): Problem {
  return new Problem('run_not_found', 'there is no such run');
}
