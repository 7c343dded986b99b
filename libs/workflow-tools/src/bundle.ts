/** What every tool of one bundle works with. */
import { z } from 'zod';
import { decodeArguments } from './arguments.ts';
import type { InputStore, RunRegistry, RunView, WorkflowCatalog, WorkflowExtras, WorkflowSupervisor } from './ports.ts';
import type { PrepareRun } from './prepare-run.ts';
import { type ToolAnnotations, type ToolInvocation, type WorkflowTool, WorkflowToolError } from './tool.ts';

export interface Bundle {
  readonly sessionId: string;
  readonly catalog: WorkflowCatalog;
  readonly registry: RunRegistry;
  readonly inputs: InputStore;
  readonly supervisor: WorkflowSupervisor;
  readonly now: () => Date;
  readonly newId: () => string;
  readonly prepareRun: PrepareRun | undefined;
  readonly extras: WorkflowExtras | undefined;
  /** What an answer may weigh; undefined: as much as the contract lets it. */
  readonly maxWeight: number | undefined;
}

type Json = Readonly<Record<string, unknown>>;

/** What a tool is made of. */
export interface ToolParts<Arguments extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: Arguments;
  readonly output: z.ZodObject;
  readonly hints: Partial<Omit<ToolAnnotations, 'title'>>;
  invoke(args: z.infer<Arguments>, options: ToolInvocation): Promise<Json>;
}

/** Makes a tool. Of what it reads of the world nothing is open: it speaks of Muster's own runs. */
export function makeTool<Arguments extends z.ZodObject>(parts: ToolParts<Arguments>): WorkflowTool {
  const { name, title, description, hints, input } = parts;
  return {
    name,
    description,
    // Made when they are asked for: a bundle is often made for a single call.
    get inputSchema() {
      return jsonSchema(input, 'input');
    },
    get outputSchema() {
      return jsonSchema(parts.output, 'output');
    },
    annotations: {
      title,
      readOnlyHint: false,
      destructiveHint: false,
      idempotentHint: false,
      openWorldHint: false,
      ...hints,
    },
    invoke: async (json, options = {}) => await parts.invoke(decodeArguments(input, json), options),
  };
}

/** The run, or the refusal that says nothing about whose it is. */
export async function findRun(bundle: Bundle, runId: string): Promise<RunView> {
  const run = await bundle.registry.get(bundle.sessionId, runId);
  if (run !== undefined) return run;
  const place = 'arguments/run_id';
  const expected = 'a run of this session; workflow_run_list lists them';
  throw new WorkflowToolError({ code: 'run_not_found', message: 'there is no such run', place, expected });
}

/**
 * A schema as clients get it. Models pay for each word of it, so what says nothing new is left out: the dialect, the bounds
 * that every whole number has, and the pattern beside a format.
 */
export function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): WorkflowTool['inputSchema'] {
  const { $schema: _dialect, ...told } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema: part }) => {
      if (part.minimum === Number.MIN_SAFE_INTEGER) delete part.minimum;
      if (part.maximum === Number.MAX_SAFE_INTEGER) delete part.maximum;
      if (part.format === 'uuid') delete part.pattern;
      if (isAnyText(part.propertyNames)) delete part.propertyNames;
    },
  });
  return told as WorkflowTool['inputSchema'];
}

function isAnyText(names: unknown): boolean {
  return JSON.stringify(names) === '{"type":"string"}';
}
