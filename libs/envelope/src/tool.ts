/**
 * Tools: what a procedure's stages call, and what a runbook becomes for an agent.
 *
 * Invariant: a declaration that could not be honoured is refused where it is made, by the option's name and its value.
 */
import type { Credential, CredentialNeed } from './credential.ts';
import { findNeedFault } from './credential.ts';
import { describe } from './describe.ts';
import { isPlainObject } from './plain-object.ts';
import type { ToolDispatch } from './tool-dispatch.ts';
import { findLimitsFault, type ToolLimits } from './tool-limits.ts';

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
  /** The target that the call is for, when there is one. */
  readonly target?: string;
  /** The declared needs, resolved, by their names. Absent when the tool declares none. */
  readonly credentials?: Readonly<Record<string, Credential>>;
  /** The one credential of a tool that needs just one. */
  readonly credential?: Credential;
}

/** A demand for a person's consent before the tool runs: always, or when the predicate says so. */
export type CheckIn = 'always' | ((args: never, context: ToolContext) => boolean);

/** What a tool declares beside its code. */
export interface ToolDeclarations {
  /** The tools it calls by name, checked when the catalog is built. */
  readonly composedOf?: readonly string[];
  /** Whether it can pause for an approval. An inner call cannot, so nothing may be composed of a tool that gates. */
  readonly gates?: boolean;
  /** Reading (the default) or changing the world. */
  readonly effect?: 'read' | 'write';
  /** It asks a person before it acts. An inner call cannot, so it is refused by name. */
  readonly checkIn?: CheckIn;
  /** Credentials by reference. */
  readonly needs?: CredentialNeed | readonly CredentialNeed[];
  /**
   * How often it may be called, by all workers of an installation together: at once, a second, and each of both for one
   * target. Calls wait for their turn, which costs a subject none of its time.
   */
  readonly limits?: ToolLimits;
  /** Arguments that are artifacts to be redeemed. No dispatch of ours does that: an inner call is refused by name. */
  readonly wants?: Readonly<Record<string, string>>;
  readonly resultKind?: string;
  /** Declarations that hosts of agents read; carried along as they are. */
  readonly resultClass?: string;
  readonly owner?: { readonly kind: string; readonly id: string };
  readonly resultCeiling?: { readonly maxChars: number; readonly narrowBy?: readonly string[] };
  readonly argumentsFrom?: readonly string[];
}

/** What {@link defineTool} takes. */
export interface ToolDefinition<TArgs = Record<string, unknown>, TResult = unknown> extends ToolDeclarations {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. Default: an object without declared properties. */
  readonly inputSchema?: unknown;
  execute(args: TArgs, context: ToolContext): TResult | Promise<TResult>;
}

/** A tool: its definition, and what a model is shown of it. */
export interface Tool<TArgs = Record<string, unknown>, TResult = unknown> extends ToolDefinition<TArgs, TResult> {
  readonly schema: { readonly name: string; readonly description: string; readonly inputSchema: unknown };
}

const NO_ARGUMENTS = Object.freeze({ type: 'object', properties: Object.freeze({}) });

/** Declares a tool. @throws TypeError naming the option that is refused and what it got */
export function defineTool<TArgs = Record<string, unknown>, TResult = unknown>(
  definition: ToolDefinition<TArgs, TResult>,
): Tool<TArgs, TResult> {
  const name: unknown = definition?.name;
  if (typeof name !== 'string' || name.trim() === '') throw refused('?', 'name', 'a non-empty string', name);
  const { description, execute, effect, checkIn, needs, inputSchema = NO_ARGUMENTS } = definition;
  if (typeof description !== 'string' || description.trim() === '') {
    throw refused(name, 'description', 'a non-empty string', description);
  }
  if (typeof execute !== 'function') throw refused(name, 'execute', 'a function', execute);
  if (!isPlainObject(inputSchema)) throw refused(name, 'inputSchema', 'a JSON Schema object', inputSchema);
  assertComposedOf(name, definition.composedOf);
  assertGates(name, definition.gates);
  if (effect !== undefined && effect !== 'read' && effect !== 'write') {
    throw refused(name, 'effect', "'read' or 'write'", effect);
  }
  if (checkIn !== undefined && checkIn !== 'always' && typeof checkIn !== 'function') {
    throw refused(name, 'checkIn', "'always' or a function", checkIn);
  }
  assertLimits(name, definition.limits);
  const fault = findNeedFault(needs);
  if (fault !== undefined) {
    throw refused(
      name,
      fault.option,
      'part of a credential by reference: { credential, from?, perTarget?, mode? }',
      fault.got,
    );
  }
  return Object.freeze({ ...definition, schema: Object.freeze({ name, description, inputSchema }) });
}

/** Checks `composedOf` where a tool is defined: names, and not its own. Whether they exist, the catalog knows. */
export function assertComposedOf(toolName: string, composedOf: unknown): void {
  if (composedOf === undefined) return;
  if (!Array.isArray(composedOf) || composedOf.length === 0) {
    throw refused(toolName, 'composedOf', 'a list of at least one tool name', composedOf);
  }
  for (const ingredient of composedOf) {
    if (typeof ingredient !== 'string' || ingredient.trim() === '') {
      throw refused(toolName, 'composedOf', 'a list of non-empty tool names', ingredient);
    }
    if (ingredient === toolName) {
      throw new TypeError(
        `tool '${toolName}': \`composedOf\` names the tool itself, which cannot be its own ingredient`,
      );
    }
  }
}

/** Checks `gates` where a tool is defined: a boolean, and not something that reads as true. */
export function assertGates(toolName: string, gates: unknown): void {
  if (gates !== undefined && typeof gates !== 'boolean') throw refused(toolName, 'gates', 'true or false', gates);
}

/** Checks `limits` where a tool is defined: numbers that can be held, and no other words. */
export function assertLimits(toolName: string, limits: unknown): void {
  const fault = findLimitsFault(limits);
  if (fault !== undefined) throw refused(toolName, fault.option, fault.expected, fault.got);
}

function refused(tool: string, option: string, expected: string, got: unknown): TypeError {
  return new TypeError(`tool '${tool}': \`${option}\` must be ${expected}, got ${describe(got)}`);
}
