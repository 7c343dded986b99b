/**
 * MCP between standard input and output and the API, message by message.
 *
 * Invariants:
 * - standard output holds protocol messages and nothing else;
 * - every request is answered once: by the API, or with an error that says why the API did not; only a request that its
 *   sender has cancelled may go without an answer;
 * - nothing of a conversation is kept here, and the API is looked for anew with each message: one that was restarted, or
 *   comes up later, is just used.
 */
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';
import { endWithAnswer } from './end-with-answer.ts';
import { type RelayError, relayError } from './relay-error.ts';

export interface McpRelay {
  readonly input: Readable;
  readonly output: Writable;
  /** Name of the session. */
  readonly session: string;
  /** Where the API answers now, and the key for it. Asked for each message. */
  findApi(): Promise<{ readonly address: string; readonly key: string }>;
  /** Takes one line for a person. */
  complain(text: string): void;
}

/** Relays until the input has ended and everything in it is answered, or nobody reads the output any more. */
export async function relayMcp(relay: McpRelay): Promise<void> {
  const unanswered = new Unanswered();
  const stdio = new StdioServerTransport(relay.input, relay.output);
  // The address is filled in with each message.
  const http = new StreamableHTTPClientTransport(new URL('http://muster.invalid/mcp'), {
    fetch: fetchFromApi(relay),
    requestInit: { headers: { 'muster-session': relay.session } },
  });
  const answer = (message: JSONRPCMessage & { id?: RequestId | undefined }) => {
    if (unanswered.answered(message.id)) void stdio.send(message);
  };
  stdio.onmessage = (message) => {
    unanswered.note(message);
    const sent = http.send(message).catch((error: unknown) => {
      const refusal = relayError(error);
      if (isJSONRPCRequest(message)) answer(errorMessage(message.id, refusal));
      else relay.complain(refusal.message);
    });
    unanswered.hold(sent);
  };
  stdio.onerror = () => relay.complain('a line on standard input is no JSON-RPC message, and is passed over');
  http.onmessage = (message) => {
    if (isJSONRPCErrorResponse(message)) return answer(message);
    if (!isJSONRPCResultResponse(message)) return void stdio.send(message);
    const { protocolVersion } = message.result;
    if (unanswered.isInitialize(message.id)) http.setProtocolVersion(String(protocolVersion));
    answer(message);
  };
  await Promise.all([http.start(), stdio.start()]);
  await Promise.race([
    once(relay.input, 'close').then(() => unanswered.settled()),
    once(relay.input, 'end').then(() => unanswered.settled()),
    new Promise<void>((resolve) => void relay.output.once('error', () => resolve())),
    new Promise<void>((resolve) => {
      stdio.onclose = resolve;
    }),
  ]);
  await http.close();
  await stdio.close();
}

/** The requests that have no answer yet, and the messages that are still on their way. */
class Unanswered {
  readonly #methods = new Map<RequestId, string>();
  readonly #onTheirWay = new Set<Promise<void>>();
  #onSettled: () => void = () => undefined;

  note(message: JSONRPCMessage): void {
    if (isJSONRPCRequest(message)) this.#methods.set(message.id, message.method);
    if (!isJSONRPCNotification(message) || message.method !== 'notifications/cancelled') return;
    this.answered(message.params?.requestId as RequestId | undefined);
  }

  hold(sent: Promise<void>): void {
    this.#onTheirWay.add(sent);
    void sent.then(() => {
      this.#onTheirWay.delete(sent);
      this.#settle();
    });
  }

  isInitialize(id: RequestId): boolean {
    return this.#methods.get(id) === 'initialize';
  }

  /** Takes a request off; false when it is not here any more. */
  answered(id: RequestId | undefined): boolean {
    if (id === undefined || !this.#methods.delete(id)) return false;
    this.#settle();
    return true;
  }

  settled(): Promise<void> {
    return new Promise((resolve) => {
      this.#onSettled = resolve;
      this.#settle();
    });
  }

  #settle(): void {
    if (this.#methods.size === 0 && this.#onTheirWay.size === 0) this.#onSettled();
  }
}

function fetchFromApi(relay: McpRelay): FetchLike {
  return async (_url, init) => {
    const { address, key } = await relay.findApi();
    const headers = new Headers(init?.headers);
    headers.set('authorization', `Bearer ${key}`);
    const response = await fetch(`${address}/mcp`, { ...init, headers }).catch((error: unknown) => {
      throw relayError(error, address);
    });
    const id = init?.method === 'POST' ? requestIdOf(init.body) : undefined;
    if (id === undefined || !response.headers.get('content-type')?.startsWith('text/event-stream')) return response;
    return endWithAnswer(response, errorMessage(id, relayError(undefined, address)));
  };
}

function requestIdOf(body: unknown): RequestId | undefined {
  const message = JSON.parse(String(body)) as JSONRPCMessage;
  return isJSONRPCRequest(message) ? message.id : undefined;
}

function errorMessage(id: RequestId, { code, message, data }: RelayError): JSONRPCMessage {
  return { jsonrpc: '2.0', id, error: { code, message, data } };
}
