/** What interrupted runs ask. */
import { getOpenInterruption, type InterruptionRecord, listOpenInterruptions } from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import { Problem } from '../problems.ts';
import { describeInterruption, type InterruptionView } from '../wire/interruption.ts';
import { findRun, type RunReader, scopeOfRun } from './find-run.ts';

export interface InterruptionPage {
  readonly interruptions: InterruptionView[];
  readonly next_after?: string;
}

/** What the run asks. @throws Problem `run_not_found`, `not_interrupted` */
export async function readInterruption(deps: ApiDeps, reader: RunReader, runId: string): Promise<InterruptionView> {
  const run = await findRun(deps, reader, runId);
  const interruption = await getOpenInterruption(deps.db, scopeOfRun(reader, run.id));
  if (interruption === undefined) throw notInterrupted(run.status);
  return describeInterruption(interruption);
}

/** Every open question that this reader may see, oldest first. @throws UnknownCursorError */
export async function readOpenInterruptions(
  deps: ApiDeps,
  reader: RunReader,
  page: { readonly after?: string | undefined; readonly limit: number },
): Promise<InterruptionPage> {
  const found = await listOpenInterruptions(deps.db, {
    tenant: reader.caller.tenant,
    limit: page.limit,
    ...(reader.sessionId !== undefined && { sessionId: reader.sessionId }),
    ...(page.after !== undefined && { after: page.after }),
  });
  return {
    interruptions: found.interruptions.map((record: InterruptionRecord) => describeInterruption(record)),
    ...(found.nextAfter !== undefined && { next_after: found.nextAfter }),
  };
}

/** The refusal of whoever answers what nobody asks. */
export function notInterrupted(status: string, detail = `the run is ${status} and asks nothing`): Problem {
  return new Problem('not_interrupted', detail, { run_status: status });
}
