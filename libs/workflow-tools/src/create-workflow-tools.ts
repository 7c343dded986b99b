/**
 * The bundle: bound to one session, checked whole when it is built, closed where something is missing.
 */
import type { Bundle } from './bundle.ts';
import type { InputStore, RunRegistry, WorkflowCatalog, WorkflowExtras, WorkflowSupervisor } from './ports.ts';
import type { PrepareRun } from './prepare-run.ts';
import { schemaFault } from './schema-fault.ts';
import { type WorkflowTool, WorkflowToolError } from './tool.ts';
import { artifactGet } from './tools/artifact-get.ts';
import { definitionList } from './tools/definition-list.ts';
import { runCancel } from './tools/run-cancel.ts';
import { runGet } from './tools/run-get.ts';
import { runHistory } from './tools/run-history.ts';
import { runList } from './tools/run-list.ts';
import { runResume } from './tools/run-resume.ts';
import { runStart } from './tools/run-start.ts';
import { runbookTool } from './tools/runbook-tool.ts';
import { verdictRows } from './tools/verdict-rows.ts';

/** What a bundle is built of. */
export interface WorkflowToolsOptions {
  /** A nonzero UUID: every look-up goes through it. */
  readonly sessionId: string;
  readonly catalog: WorkflowCatalog;
  readonly registry: RunRegistry;
  readonly inputs: InputStore;
  readonly supervisor: WorkflowSupervisor;
  /** Default: the system's clock. */
  readonly now?: (() => Date) | undefined;
  /** Default: random UUIDs. */
  readonly newId?: (() => string) | undefined;
  readonly prepareRun?: PrepareRun | undefined;
  /** What goes beyond the contract: waiting, envelopes, rows, artifacts, runbooks as tools. */
  readonly extras?: WorkflowExtras | undefined;
  readonly limits?: {
    /** What an answer may weigh (see `answerWeight`). Default: as much as the contract lets it. */
    readonly answerWeight?: number | undefined;
  };
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const DESCRIPTION_BYTES = 256;
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  catalog: ['list', 'resolve', 'validateInput', 'validateResume'],
  registry: ['create', 'get', 'list'],
  inputs: ['put'],
  supervisor: ['start', 'history', 'resume', 'cancel'],
  extras: ['wait', 'rows', 'artifact'],
};

/**
 * Builds the tools: the seven in the contract's order, and with `extras` those beyond them.
 *
 * @throws WorkflowToolError `bundle_invalid` when a capability is missing, or a definition's schema is not one that the
 * contract takes
 */
export function createWorkflowTools(options: WorkflowToolsOptions): readonly WorkflowTool[] {
  checkOptions(options);
  const { now = () => new Date(), newId = () => crypto.randomUUID(), extras, limits, prepareRun, ...ports } = options;
  const bundle: Bundle = { ...ports, now, newId, extras, prepareRun, maxWeight: limits?.answerWeight };
  const tools = [
    definitionList(bundle),
    runStart(bundle),
    runGet(bundle),
    runList(bundle),
    runResume(bundle),
    runCancel(bundle),
    runHistory(bundle),
  ];
  if (extras !== undefined) {
    const offered = bundle.catalog.list().filter((definition) => definition.as_tool === true);
    tools.push(verdictRows(bundle, extras), artifactGet(bundle, extras));
    tools.push(...offered.map((definition) => runbookTool(bundle, extras, definition)));
  }
  const names = new Set<string>();
  for (const { name, description } of tools) {
    if (names.has(name)) throw invalid(`two tools would have the name ${name}`);
    names.add(name);
    const bytes = new TextEncoder().encode(description).byteLength;
    if (bytes > DESCRIPTION_BYTES)
      throw invalid(`the description of ${name} is ${bytes} bytes, over ${DESCRIPTION_BYTES}`);
  }
  return Object.freeze(tools);
}

function checkOptions(options: WorkflowToolsOptions): void {
  if (!UUID.test(options.sessionId) || /^[0-]+$/.test(options.sessionId)) {
    throw invalid('sessionId must be a nonzero UUID');
  }
  for (const [port, methods] of Object.entries(REQUIRED)) {
    if (port === 'extras' && options.extras === undefined) continue;
    const given = (options as unknown as Record<string, Record<string, unknown> | undefined>)[port];
    for (const method of methods) {
      if (typeof given?.[method] !== 'function') throw invalid(`${port}.${method} is missing`);
    }
  }
  for (const { name, input_schema } of options.catalog.list()) {
    const fault = schemaFault(input_schema);
    if (fault !== undefined) throw invalid(`the input schema of '${name}' is not taken: ${fault}`);
  }
}

function invalid(message: string): WorkflowToolError {
  return new WorkflowToolError({ code: 'bundle_invalid', message });
}
