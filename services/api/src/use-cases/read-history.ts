import { listEvents } from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import { type RunHistory, runHistory } from '../wire/history.ts';
import { type RunReader, runNotFound, scopeOfRun } from './find-run.ts';

export interface HistoryQuery {
  readonly after_revision?: number | undefined;
  readonly after_event_id?: string | undefined;
  readonly limit: number;
}

/** A page of the history. @throws Problem `run_not_found`; UnknownCursorError */
export async function readHistory(
  deps: ApiDeps,
  reader: RunReader,
  runId: string,
  query: HistoryQuery,
): Promise<RunHistory> {
  const page = await listEvents(deps.db, {
    ...scopeOfRun(reader, runId),
    limit: query.limit,
    ...(query.after_revision !== undefined && { afterRevision: query.after_revision }),
    ...(query.after_event_id !== undefined && { afterEventId: query.after_event_id }),
  });
  if (page === undefined) throw runNotFound();
  return runHistory(runId, page);
}
