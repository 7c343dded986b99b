/** A tool, how it is called, and how it refuses. */

/** What a refusal tells, so that the next call can be right. */
export interface ToolErrorParts {
  /** Stable. */
  readonly code: string;
  /** One line. */
  readonly message: string;
  /** Where in the arguments: `arguments/run_id`. */
  readonly place?: string | undefined;
  readonly expected?: string | undefined;
  /** The valid value that is spelled most alike. */
  readonly nearest?: string | undefined;
  /** Whether the same call may succeed later. Default false. */
  readonly retryable?: boolean | undefined;
}

/** A refusal of a tool. Its message never holds a value that was given, but for names. */
export class WorkflowToolError extends Error implements ToolErrorParts {
  override readonly name = 'WorkflowToolError';
  readonly code: string;
  readonly place: string | undefined;
  readonly expected: string | undefined;
  readonly nearest: string | undefined;
  readonly retryable: boolean;

  constructor({ code, message, place, expected, nearest, retryable = false }: ToolErrorParts, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.place = place;
    this.expected = expected;
    this.nearest = nearest;
    this.retryable = retryable;
  }
}

/** How a call is bounded from outside. */
export interface ToolInvocation {
  /** Ends a wait; the run goes on. */
  readonly signal?: AbortSignal | undefined;
}

/** What a client may assume of a tool (MCP tool annotations). */
export interface ToolAnnotations {
  readonly title: string;
  readonly readOnlyHint: boolean;
  readonly destructiveHint: boolean;
  readonly idempotentHint: boolean;
  readonly openWorldHint: boolean;
}

type JsonSchema = { readonly type: 'object'; readonly [key: string]: unknown };

/** A tool of the bundle. */
export interface WorkflowTool {
  readonly name: string;
  /** At most 256 bytes. */
  readonly description: string;
  /** Closed. */
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema;
  readonly annotations: ToolAnnotations;
  /**
   * Calls it. The arguments are JSON text, decoded strictly.
   *
   * @throws WorkflowToolError for its own refusals; what a port throws passes through unchanged
   */
  invoke(json: string | Uint8Array, options?: ToolInvocation): Promise<Readonly<Record<string, unknown>>>;
}
