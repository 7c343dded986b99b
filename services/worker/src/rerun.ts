/** What a rerun takes from the run that it does again: the keys of the chosen subjects, and what its answer says of it. */
import type { RerunNote } from '@muster/envelope';
import { getRun, type RerunSelection, type RunRecord, selectSubjects, subjectKeysOf } from '@muster/results';
import type { WorkerContext } from './worker-context.ts';

/**
 * The chosen keys in the order of the source run; undefined for a run that is no rerun. They are all held, and are never
 * more than the source run had: as many keys as a plan of all of it would hold.
 */
export async function chosenKeys(context: WorkerContext, run: RunRecord): Promise<ReadonlySet<string> | undefined> {
  if (run.rerunOf === null) return undefined;
  const query = { tenant: run.tenant, runId: run.rerunOf, ...selectSubjects(run.rerunSelection as RerunSelection) };
  const keys = new Set<string>();
  for await (const key of subjectKeysOf(context.db, query)) keys.add(key);
  return keys;
}

/** How the answer names the source run; undefined for a run that is no rerun. */
export async function rerunNote(context: WorkerContext, run: RunRecord): Promise<RerunNote | undefined> {
  if (run.rerunOf === null) return undefined;
  const selection = run.rerunSelection as RerunSelection;
  const source = await getRun(context.db, { tenant: run.tenant, runId: run.rerunOf });
  return {
    of: run.rerunOf,
    ...('only' in selection ? { only: selection.only } : { subjects: selection.subjects.length }),
    definition_changed: source?.definitionDigest !== run.definitionDigest,
  };
}
