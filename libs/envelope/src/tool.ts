/**
 * Tools: what a procedure's stages call, and what a runbook becomes for an agent.
 *
 * Invariants (contract "Tools a procedure calls"): inner calls run without artifacts and with a call id derived from the
 * outer one; they go one level deep; a tool that needs a human, or a credential nobody resolved, refuses by name.
 */
import type { ToolDispatch } from './tool-dispatch.ts';

/** What a put takes, as far as this package mints: JSON text under a kind. */
export interface MintInput {
  readonly kind: string;
  readonly mediaType: string;
  readonly data: string;
  readonly label: string;
  readonly origin?: { readonly runId?: string; readonly toolCallId?: string };
}

/** The store door a run is given: scope already bound. `put` returns at least the ref. */
export interface ArtifactSink {
  put(input: MintInput): Promise<{ readonly ref: string }>;
}

/** What a tool's `execute` gets beside its arguments. */
export interface ToolContext {
  readonly toolCallId: string;
  readonly runId?: string;
  readonly signal?: AbortSignal;
  /** The tools this call may use; absent for an inner call. */
  readonly tools?: ToolDispatch;
  readonly artifacts?: ArtifactSink;
  readonly hasArtifacts?: boolean;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly inputSchema?: unknown;
  execute(args: unknown, context: ToolContext): unknown;
  /** The tools it calls by name, checked when the catalog is built. */
  readonly composedOf?: readonly string[];
  /** Reading (the default) or changing the world. */
  readonly effect?: 'read' | 'write';
  /** It asks a person before it acts. An inner call cannot, so it is refused by name. */
  readonly checkIn?: unknown;
  /** Credentials by reference. */
  readonly needs?: unknown;
}

/** Declares a tool. @throws TypeError for an empty name or description, or an `execute` that is no function. */
export function defineTool(tool: Tool): Tool {
  for (const option of ['name', 'description'] as const) {
    if (typeof tool?.[option] !== 'string' || tool[option].trim() === '') {
      throw new TypeError(`defineTool: ${option} must be a non-empty string, got ${describe(tool?.[option])}`);
    }
  }
  if (typeof tool.execute !== 'function') {
    throw new TypeError(`defineTool: execute of '${tool.name}' must be a function, got ${describe(tool.execute)}`);
  }
  return Object.freeze({ ...tool });
}

/** The outer call that inner calls belong to. */
export interface OuterCall {
  readonly toolCallId: string;
  readonly runId?: string;
  readonly signal?: AbortSignal;
}

/** A dispatch over registered tools for one outer call. Inner calls are numbered from 1 in the order they are made. */
export function dispatchTools(tools: readonly Tool[], outer: OuterCall): ToolDispatch {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  let calls = 0;
  return {
    has: (name) => byName.has(name),
    async call(name, args = {}, options) {
      const tool = byName.get(name);
      if (tool === undefined) throw new ToolRefusedError(name, 'tool_unknown', 'is not registered');
      if (tool.checkIn !== undefined) {
        throw new ToolRefusedError(name, 'tool_needs_human', 'asks a person, which an inner call cannot');
      }
      if (tool.needs !== undefined) {
        throw new ToolRefusedError(name, 'tool_needs_unresolved', 'needs credentials that this run was not given');
      }
      const signal = options?.signal ?? outer.signal;
      return await tool.execute(args, {
        toolCallId: `${outer.toolCallId}#inner-${++calls}`,
        ...(outer.runId !== undefined && { runId: outer.runId }),
        ...(signal !== undefined && { signal }),
        hasArtifacts: false,
      });
    },
  };
}

/** A tool that was not run, by name and code. */
export class ToolRefusedError extends Error {
  override readonly name = 'ToolRefusedError';
  readonly code: string;
  readonly tool: string;

  constructor(tool: string, code: string, why: string) {
    super(`the tool '${tool}' ${why}`);
    this.tool = tool;
    this.code = code;
  }
}

/** A value as it may be shown in a refusal at definition: its type, and itself when it is short and plain. */
export function describe(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'string') return value.length <= 40 ? JSON.stringify(value) : `a string of ${value.length}`;
  if (typeof value === 'number' || typeof value === 'boolean' || value === undefined) return String(value);
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
