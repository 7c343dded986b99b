/** The hook that binds a run to a place for its artifacts, and its leash. */
import { isLine } from './arguments.ts';
import type { NewRun } from './ports.ts';
import { RUN_BYTES } from './safe-run.ts';
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
    if (before[field] !== after[field]) throw overreach(`changed '${field}'`);
  }
  return bounded({ ...run, ...namespaceOf(after) });
}

function namespaceOf({
  artifact_session_id,
  artifact_run_id,
  parent_artifact_input,
}: Readonly<Record<string, unknown>>) {
  return {
    ...(artifact_session_id !== undefined && { artifact_session_id: nameOf(artifact_session_id) }),
    ...(artifact_run_id !== undefined && { artifact_run_id: nameOf(artifact_run_id) }),
    ...(parent_artifact_input !== undefined && { parent_artifact_input }),
  };
}

function nameOf(value: unknown): string {
  if (typeof value === 'string' && value !== '' && isLine(value)) return value;
  throw overreach('filled an artifact field with something that is no name');
}

/** The record as the registry gets it: plain JSON of at most 64 KiB. */
function bounded(run: NewRun): NewRun {
  const text = jsonOf(run);
  if (text === undefined) throw overreach('filled an artifact field with something that is no JSON');
  if (new TextEncoder().encode(text).byteLength > RUN_BYTES)
    throw overreach(`made the record larger than ${RUN_BYTES} bytes`);
  return JSON.parse(text) as NewRun;
}

function jsonOf(run: NewRun): string | undefined {
  try {
    return JSON.stringify(run);
  } catch {
    // It contains itself, or a bigint.
    return undefined;
  }
}

function overreach(what: string): WorkflowToolError {
  const message = `the hook prepareRun ${what}; it may fill the artifact fields and nothing else`;
  return new WorkflowToolError({ code: 'prepare_run_overreach', message });
}
