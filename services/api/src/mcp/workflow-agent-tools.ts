/**
 * The bundle of tools behind the MCP door. The list is made once: it is the same for everybody. The tools themselves are
 * made for each call, bound to the session that the call names.
 */
import type { ListToolsResult } from '@modelcontextprotocol/sdk/types.js';
import { describeRunbook } from '@muster/host';
import { schemaFault } from '@muster/workflow-tools';
import type { ApiDeps } from '../api-deps.ts';
import { Problem } from '../problems.ts';
import type { AgentTools } from './agent-tools.ts';
import { sessionTools } from './session-tools.ts';
import { WorkflowPorts } from './workflow-ports.ts';

type ListedTool = ListToolsResult['tools'][number];

/** A tool of the bundle. */
export interface BundledTool extends ListedTool {
  /** @param json the arguments, decoded strictly by the tool */
  invoke(json: string, options: { readonly signal: AbortSignal }): Promise<object>;
}

/** Makes the tools of one session, in the order in which they are listed. */
export type Bundle = (ports: WorkflowPorts) => readonly BundledTool[];

/**
 * Bytes of the runbooks' own tools in the list. The nine others take 2,500 tokens; with these the list stays under 3,000,
 * whatever their names and schemas are made of (tested).
 */
export const MAX_RUNBOOK_BYTES = 1_200;

const RUNBOOK_PREFIX = 'runbook_';
const STARTING = 'workflow_run_start';

/** @param bundle gives the same tools for every session, so that what is listed is what is called */
export function workflowAgentTools(deps: ApiDeps, bundle: Bundle = sessionTools): AgentTools {
  for (const definition of deps.catalog.byName.values()) {
    const { name, input_schema } = describeRunbook(definition);
    const fault = schemaFault(input_schema);
    if (fault !== undefined)
      deps.logger.warn({ runbook: name }, `agents are not offered this runbook: of its schema, ${fault}`);
  }
  const listing = fitListing(bundle(WorkflowPorts.ofNobody(deps)), (names) =>
    deps.logger.warn({ tools: names }, 'the list of MCP tools is full: workflow_run_start starts these runbooks'),
  );
  return {
    listing,
    async call(name, args, call) {
      const starts = name === STARTING || name.startsWith(RUNBOOK_PREFIX);
      const ports = await WorkflowPorts.open(deps, call, { starts });
      const tool = bundle(ports).find((one) => one.name === name);
      if (tool === undefined) throw new Error(`the tool ${name} is listed and not there`);
      return (await tool.invoke(jsonOf(args), { signal: call.signal })) as Readonly<Record<string, unknown>>;
    },
  };
}

/** Tools of runbooks are left out, last ones first, where the list would grow too long; the others never are. */
function fitListing(tools: readonly BundledTool[], onLeftOut: (names: string[]) => void): ListedTool[] {
  const listed: ListedTool[] = [];
  const leftOut: string[] = [];
  let bytes = 0;
  for (const { invoke: _invoke, ...tool } of tools) {
    const more = tool.name.startsWith(RUNBOOK_PREFIX) ? Buffer.byteLength(JSON.stringify(tool)) + 1 : 0;
    if (bytes + more > MAX_RUNBOOK_BYTES) leftOut.push(tool.name);
    else {
      listed.push(tool);
      bytes += more;
    }
  }
  if (leftOut.length > 0) onLeftOut(leftOut);
  return listed;
}

/** The arguments as they came: the request was strict JSON, so all that could be lost on the way is a number. */
function jsonOf(args: unknown): string {
  return JSON.stringify(args, (_key, value: unknown) => {
    if (typeof value !== 'number' || Number.isFinite(value)) return value;
    const expected = 'numbers within the range of a double';
    throw new Problem('input_invalid', `the arguments have a number beyond that: expected ${expected}`, {
      errors: [{ path: 'arguments', expected }],
    });
  });
}
