import { getOpenInterruption, getRunCollapse, listRunArtifacts, type RunRecord, runProgress } from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import { type SafeRun, safeRun } from '../wire/safe-run.ts';
import { findRun, type RunReader, scopeOfRun } from './find-run.ts';

/** How many artifact references a run shows (workflow-tools contract). */
const MAX_ARTIFACTS = 128;

/** All who waited for a run got the same row: what is beside it is read once for them. */
const shown = new WeakMap<RunRecord, Promise<SafeRun>>();

/** The safe run. @throws Problem `run_not_found` */
export async function readRun(deps: ApiDeps, reader: RunReader, runId: string): Promise<SafeRun> {
  return showRun(deps, reader, await findRun(deps, reader, runId));
}

/** The safe run of a row that was just read in this reader's scope. */
export function showRun(deps: ApiDeps, reader: RunReader, run: RunRecord): Promise<SafeRun> {
  const known = shown.get(run);
  if (known !== undefined) return known;
  const showing = readDetails(deps, reader, run);
  shown.set(run, showing);
  showing.catch(() => shown.delete(run));
  return showing;
}

async function readDetails(deps: ApiDeps, reader: RunReader, run: RunRecord): Promise<SafeRun> {
  const scope = scopeOfRun(reader, run.id);
  const [progress, artifacts, interruption, collapse] = await Promise.all([
    run.frozenAt === null ? undefined : runProgress(deps.db, scope),
    run.startedAt === null ? [] : listRunArtifacts(deps.db, { ...scope, limit: MAX_ARTIFACTS }),
    run.status === 'interrupted' ? getOpenInterruption(deps.db, scope) : undefined,
    run.deliveryId === null ? undefined : getRunCollapse(deps.db, scope),
  ]);
  return safeRun(run, {
    artifacts,
    ...(progress !== undefined && { progress }),
    ...(interruption !== undefined && { interruption }),
    ...(collapse !== undefined && { collapse }),
  });
}
