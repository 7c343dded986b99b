import { listRunArtifacts, type RunRecord, runProgress } from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import { type SafeRun, safeRun } from '../wire/safe-run.ts';
import { findRun, type RunReader, scopeOfRun } from './find-run.ts';

/** How many artifact references a run shows (workflow-tools contract). */
const MAX_ARTIFACTS = 128;

/** The safe run. @throws Problem `run_not_found` */
export async function readRun(deps: ApiDeps, reader: RunReader, runId: string): Promise<SafeRun> {
  return showRun(deps, reader, await findRun(deps, reader, runId));
}

/** The safe run of a row that was just read. */
export async function showRun(deps: ApiDeps, reader: RunReader, run: RunRecord): Promise<SafeRun> {
  const scope = scopeOfRun(reader, run.id);
  const progress = run.frozenAt === null ? undefined : await runProgress(deps.db, scope);
  const artifacts = run.startedAt === null ? [] : await listRunArtifacts(deps.db, { ...scope, limit: MAX_ARTIFACTS });
  return safeRun(run, { ...(progress !== undefined && { progress }), artifacts });
}
