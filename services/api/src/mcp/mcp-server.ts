/**
 * One MCP server for one request: it lists the tools and calls them. The SDK's low-level server is taken, because the
 * tools' JSON Schemas are given and are not to be made from zod a second time.
 */
import { readFileSync } from 'node:fs';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { ErrorCode, ListToolsRequestSchema, McpError } from '@modelcontextprotocol/sdk/types.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import { cleanLine } from '@muster/envelope';
import { nearest } from '@muster/host';
import { z } from 'zod';
import type { AgentTools, McpCaller } from './agent-tools.ts';
import { explainRefusal, isToolError } from './explain-refusal.ts';
import { reportProgress } from './report-progress.ts';
import { answerResult, refusalResult } from './tool-result.ts';

const INSTRUCTIONS = `Muster runs standing procedures (runbooks) over fleets and answers with evidence.
Start a run with workflow_run_start, then wait for it with workflow_run_get (wait_ms 30000, include ["envelope"]) and repeat while run_status is pending or running.
An interrupted run asks a question: a person answers it, or workflow_run_resume does.
Read an envelope for what it says was checked and what was not: af_coverage belongs to the answer.`;

const SHOWN_NAME_LENGTH = 64;
const VERSION = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
).version;

/** Laxer than the SDK's own, which is checked after it and then refuses by the right code. */
const callRequest = z.object({
  method: z.literal('tools/call'),
  params: z.looseObject({ name: z.string(), arguments: z.unknown().optional() }),
});

// Only elicitation uses it, and making one takes longer than most requests.
const jsonSchemaValidator = new AjvJsonSchemaValidator();

/** Makes the server. Close it when the request is over: that ends whatever it still waits for. */
export function mcpServer(tools: AgentTools, caller: McpCaller): Server {
  const server = new Server(
    { name: 'muster', title: 'Muster', version: VERSION },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS, jsonSchemaValidator },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools.listing }));
  server.setRequestHandler(callRequest, async ({ params }, { signal, _meta, sendNotification }) => {
    const names = tools.listing.map(({ name }) => name);
    if (!names.includes(params.name)) throw unknownTool(params.name, names);
    const onProgress = reportProgress(_meta?.progressToken, sendNotification);
    try {
      return answerResult(await tools.call(params.name, params.arguments ?? {}, { ...caller, signal, onProgress }));
    } catch (error) {
      if (!isToolError(error)) caller.onError(error);
      return refusalResult(explainRefusal(error));
    }
  });
  return server;
}

function unknownTool(name: string, names: readonly string[]): McpError {
  const shown = cleanLine(name, SHOWN_NAME_LENGTH);
  const alike = nearest(shown, names);
  return new McpError(ErrorCode.InvalidParams, `there is no tool '${shown}'; did you mean '${alike}'?`, {
    nearest: alike,
  });
}
