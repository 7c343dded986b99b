/**
 * Starting a run, in the contract's order: resolve and validate, canonicalise and digest, store the input, create the run,
 * start it. It resolves after the durable seed; a failure at any step is an error and never a success that misleads.
 */
import { runId } from '../arguments.ts';
import type { Bundle } from '../bundle.ts';
import { boundFault, canonicalDocument } from '../json-bounds.ts';
import { nearestOf } from '../nearest.ts';
import type { DefinitionSummary, NewRun, RunView } from '../ports.ts';
import { prepareRun } from '../prepare-run.ts';
import { WorkflowToolError } from '../tool.ts';

/** What is to be started. */
export interface StartOfRun {
  readonly definition: DefinitionSummary;
  readonly input: Readonly<Record<string, unknown>>;
  readonly parentRunId?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  /** Where the input stands in the arguments, for refusals. */
  readonly inputPlace: string;
}

export async function startARun(bundle: Bundle, start: StartOfRun): Promise<RunView> {
  const { definition, input, parentRunId, idempotencyKey, inputPlace } = start;
  const fault = boundFault(input);
  if (fault !== undefined) {
    const message = `${inputPlace}: ${fault.message}`;
    throw new WorkflowToolError({ code: 'input_out_of_bounds', message, place: inputPlace });
  }
  await bundle.catalog.validateInput(definition, input);
  if (parentRunId !== undefined && (await bundle.registry.get(bundle.sessionId, parentRunId)) === undefined) {
    const place = 'arguments/parent_run_id';
    const message = 'the parent run is not in this session';
    throw new WorkflowToolError({ code: 'unknown_parent_run', message, place });
  }
  const { canonical, digest } = await canonicalDocument(input);
  await bundle.inputs.put({ digest, canonical });
  const at = bundle.now().toISOString();
  const run: NewRun = {
    run_id: newRunId(bundle),
    session_id: bundle.sessionId,
    definition_name: definition.name,
    definition_version: definition.version,
    input_digest: digest,
    run_status: 'pending',
    ...(parentRunId !== undefined && { parent_run_id: parentRunId }),
    created_at: at,
    updated_at: at,
  };
  const created = await bundle.registry.create(await prepareRun(run, bundle.prepareRun), { idempotencyKey });
  return await bundle.supervisor.start(created);
}

function newRunId({ newId }: Bundle): string {
  const id = runId.safeParse(newId());
  if (id.success) return id.data;
  throw new WorkflowToolError({ code: 'new_id_invalid', message: 'newId gave something that is no nonzero UUID' });
}

/** The definition, or the refusal that names the nearest. @throws WorkflowToolError */
export async function resolveDefinition(bundle: Bundle, name: string, version: string): Promise<DefinitionSummary> {
  const found = await bundle.catalog.resolve(name, version);
  if (found !== undefined) return found;
  const all = bundle.catalog.list();
  const named = all.filter((definition) => definition.name === name);
  if (named.length === 0) {
    const nearest = nearestOf(
      name,
      all.map((definition) => definition.name),
    );
    const place = 'arguments/definition_name';
    const expected = 'a name of workflow_definition_list';
    throw new WorkflowToolError({
      code: 'unknown_runbook',
      message: 'there is no such runbook',
      place,
      expected,
      nearest,
    });
  }
  const nearest = named[0]?.version;
  const place = 'arguments/definition_version';
  const message = 'the runbook is not here in this version';
  throw new WorkflowToolError({ code: 'unknown_runbook_version', message, place, expected: nearest, nearest });
}
