import type { ListToolsResult } from '@modelcontextprotocol/sdk/types.js';
import type { Caller } from '../caller.ts';
import type { OnProgress } from './report-progress.ts';

/** Who calls, and in which session. */
export interface McpCaller {
  readonly caller: Caller;
  /** Name of the session. */
  readonly session: string;
  /** Told the id of the run that a call is about, for the log. */
  readonly onRun: (runId: string) => void;
  /** Told what a call threw, for the log. */
  readonly onError: (error: unknown) => void;
}

/** One call of a tool. */
export interface ToolCall extends McpCaller {
  /** Aborted when the client cancels or goes away. */
  readonly signal: AbortSignal;
  /** There when the client wants to be told. */
  readonly onProgress: OnProgress | undefined;
}

/** The tools behind the MCP door: the same for everybody, whoever's runs they then see. */
export interface AgentTools {
  readonly listing: ListToolsResult['tools'];
  /** @throws WorkflowToolError and Problem, for the caller to correct itself by */
  call(name: string, args: unknown, call: ToolCall): Promise<Readonly<Record<string, unknown>>>;
}
