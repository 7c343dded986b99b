/** The hook that binds a run to a place for its artifacts, and its leash. */
import type { NewRun } from './ports.ts';
import { WorkflowToolError } from './tool.ts';

/** Gives the run back with artifact fields filled in. It gets a copy; what it changes there beside them is refused. */
export type PrepareRun = (run: NewRun) => NewRun | Promise<NewRun>;

const ARTIFACT_FIELDS = new Set(['artifact_session_id', 'artifact_run_id', 'parent_artifact_input']);

/** @throws WorkflowToolError `prepare_run_overreach` */
export async function prepareRun(run: NewRun, prepare: PrepareRun | undefined): Promise<NewRun> {
  if (prepare === undefined) return run;
  const prepared: unknown = await prepare(structuredClone(run));
  if (prepared === null || typeof prepared !== 'object') throw overreach('gave no run back');
  const before = run as unknown as Record<string, unknown>;
  const after = prepared as Record<string, unknown>;
  for (const field of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (ARTIFACT_FIELDS.has(field)) continue;
    if (JSON.stringify(before[field]) !== JSON.stringify(after[field])) throw overreach(`changed '${field}'`);
  }
  const { artifact_session_id, artifact_run_id, parent_artifact_input } = after as Partial<NewRun>;
  return {
    ...run,
    ...(artifact_session_id !== undefined && { artifact_session_id }),
    ...(artifact_run_id !== undefined && { artifact_run_id }),
    ...(parent_artifact_input !== undefined && { parent_artifact_input }),
  };
}

function overreach(what: string): WorkflowToolError {
  const message = `the hook prepareRun ${what}; it may fill the artifact fields and nothing else`;
  return new WorkflowToolError({ code: 'prepare_run_overreach', message });
}
