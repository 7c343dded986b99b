/** What a tool gives, as MCP results. The text is the same JSON: many clients show a model the text alone. */
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';

/** Why a call was refused, so that the next try can be right. */
export interface ToolRefusal {
  /** Stable. */
  readonly code: string;
  /** One line. */
  readonly message: string;
  /** Where in the arguments. */
  readonly place?: string;
  /** What was expected there. */
  readonly expected?: string;
  /** The valid value that is spelled most alike. */
  readonly nearest?: string;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;
}

export function answerResult(answer: Readonly<Record<string, unknown>>): CallToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(answer) }], structuredContent: answer };
}

/** As text alone: clients check structured content against the schema of answers, also where it is an error. */
export function refusalResult(refusal: ToolRefusal): CallToolResult {
  return { content: [{ type: 'text', text: JSON.stringify({ error: refusal }) }], isError: true };
}
