/** The MCP door as the official client uses it, apart from what the tools do: tools of the test's own stand behind it. */
import { once } from 'node:events';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { RunRecord } from '@muster/results';
import Fastify from 'fastify';
import { serializerCompiler } from 'fastify-type-provider-zod';
import { afterEach, describe, expect, test } from 'vitest';
import type { Api } from '../src/api.ts';
import type { ToolCall } from '../src/mcp/agent-tools.ts';
import { postMcp } from '../src/mcp/post-mcp.ts';
import { refuseWithProblems } from '../src/refuse.ts';
import { RouteTable } from '../src/route-table.ts';

const LISTING = [{ name: 'wait_here', description: 'Waits.', inputSchema: { type: 'object' as const } }];

type Call = (args: unknown, call: ToolCall) => Promise<Record<string, unknown>>;

interface Door {
  readonly address: string;
  connect(keyId?: string): Promise<{ client: Client; transport: StreamableHTTPClientTransport }>;
}

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

/** A door of its own, whose caller is the key that the request names. */
async function openDoor(call: Call): Promise<Door> {
  const api = Fastify({ forceCloseConnections: true }) as unknown as Api;
  open.push(() => api.close());
  const table = new RouteTable(api);
  api.setValidatorCompiler(() => (value) => ({ value }));
  api.setSerializerCompiler(serializerCompiler);
  refuseWithProblems(api, table);
  api.decorateRequest('caller', null);
  api.decorateRequest('runId', null);
  api.addHook('onRequest', async (request) => {
    request.caller = { tenant: 'acme', keyId: String(request.headers['x-key']), role: 'admin', tenantWide: false };
  });
  postMcp(api, { listing: LISTING, call: (_name, args, one) => call(args, one) });
  const address = await api.listen({ port: 0, host: '127.0.0.1' });
  return {
    address,
    async connect(keyId = 'ours') {
      const client = new Client({ name: 'test', version: '1' });
      const requestInit = { headers: { 'x-key': keyId } };
      const transport = new StreamableHTTPClientTransport(new URL(`${address}/mcp`), { requestInit });
      await client.connect(transport as never);
      open.push(() => client.close());
      return { client, transport };
    },
  };
}

/** A tool that waits until its call is ended, and tells of both. */
function waitingTool() {
  const calls: { begun: Promise<ToolCall>; ended: Promise<void> }[] = [];
  const waiting: PromiseWithResolvers<ToolCall>[] = [];
  const ending: PromiseWithResolvers<void>[] = [];
  const next = () => {
    const [begun, ended] = [Promise.withResolvers<ToolCall>(), Promise.withResolvers<void>()];
    waiting.push(begun);
    ending.push(ended);
    calls.push({ begun: begun.promise, ended: ended.promise });
    return calls.at(-1)!;
  };
  let at = 0;
  const call: Call = async (_args, one) => {
    const place = at;
    at += 1;
    waiting[place]!.resolve(one);
    await once(one.signal, 'abort');
    ending[place]!.resolve();
    return {};
  };
  return { next, call };
}

test('tools are listed and called, and what they give is there as text and as structure', async () => {
  const { client } = await (await openDoor(async (args) => ({ got: args }))).connect();
  expect((await client.listTools()).tools).toEqual(LISTING);
  expect(await client.callTool({ name: 'wait_here', arguments: { a: 1 } })).toEqual({
    content: [{ type: 'text', text: '{"got":{"a":1}}' }],
    structuredContent: { got: { a: 1 } },
  });
  expect(client.getServerVersion()).toMatchObject({ name: 'muster' });
  expect(client.getInstructions()).toMatch(/workflow_run_get/);
});

test('a tool that does not exist is refused with the one that is spelled most alike', async () => {
  const { client } = await (await openDoor(async () => ({}))).connect();
  const error = await client.callTool({ name: 'wait_her' }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: -32602, message: expect.stringContaining("did you mean 'wait_here'?") });
});

test('a surprise is told without its message', async () => {
  const { client } = await (
    await openDoor(async () => {
      throw new Error('the password is hunter2');
    })
  ).connect();
  const result = await client.callTool({ name: 'wait_here' });
  expect(result).toMatchObject({ isError: true });
  expect(JSON.stringify(result)).not.toContain('hunter2');
  const [{ text }] = result.content as [{ text: string }];
  expect(JSON.parse(text).error).toMatchObject({ code: 'internal_error', retryable: false });
});

describe('a call that waits', () => {
  test('tells how far the run is, each change once, when the client wants to know', async () => {
    const run = (revision: number) => ({ revision, status: 'running', phase: 'procedure' }) as RunRecord;
    const door = await openDoor(async (_args, { onProgress }) => {
      for (const revision of [3, 3, 2, 5]) onProgress?.(run(revision));
      return { told: onProgress !== undefined };
    });
    const { client } = await door.connect();
    const seen: unknown[] = [];
    const told = await client.callTool({ name: 'wait_here' }, undefined, { onprogress: (one) => seen.push(one) });
    expect(told.structuredContent).toEqual({ told: true });
    expect(seen).toEqual([3, 5].map((progress) => ({ progress, message: 'running: procedure' })));
    expect((await client.callTool({ name: 'wait_here' })).structuredContent).toEqual({ told: false });
  });

  test('ends when its client cancels it', async () => {
    const tool = waitingTool();
    const { client } = await (await openDoor(tool.call)).connect();
    const [first, second] = [tool.next(), tool.next()];
    const stop = new AbortController();
    const cancelled = client.callTool({ name: 'wait_here' }, undefined, { signal: stop.signal });
    const { signal } = await first.begun;
    client.callTool({ name: 'wait_here' }).catch(() => undefined);
    const other = await second.begun;
    stop.abort('enough');
    await expect(cancelled).rejects.toThrow(/enough/);
    await first.ended;
    expect([signal.aborted, other.signal.aborted]).toEqual([true, false]);
  });

  test('is not ended by another client, with the same key or another, that has a call of the same id', async () => {
    const tool = waitingTool();
    const door = await openDoor(tool.call);
    const [ours, same, theirs] = [await door.connect(), await door.connect(), await door.connect('theirs')];
    const call = tool.next();
    const asked = ours.client.callTool({ name: 'wait_here' });
    const { signal } = await call.begun;
    for (const { client } of [same, theirs]) {
      for (const requestId of [0, 1, 2, 3]) {
        await client.notification({ method: 'notifications/cancelled', params: { requestId } });
      }
    }
    // A request that comes after them is answered, so they have been taken.
    await same.client.ping();
    expect(signal.aborted).toBe(false);
    asked.catch(() => undefined);
  });

  test('ends when its client goes away', async () => {
    const tool = waitingTool();
    const { client, transport } = await (await openDoor(tool.call)).connect();
    const call = tool.next();
    client.callTool({ name: 'wait_here' }).catch(() => undefined);
    await call.begun;
    await transport.close();
    await call.ended;
  });
});

describe('the transport', () => {
  const send = (address: string, init: RequestInit & { headers?: Record<string, string> }) =>
    fetch(`${address}/mcp`, {
      method: 'POST',
      ...init,
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'x-key': 'ours',
        ...init.headers,
      },
    });
  const rpc = (method: string, params: object = {}, id: number | undefined = 1) =>
    JSON.stringify({ jsonrpc: '2.0', ...(id !== undefined && { id }), method, params });

  test('needs no handshake: any process answers any message, also with an id that another one gave', async () => {
    const { address } = await openDoor(async () => ({}));
    const answer = await send(address, { body: rpc('tools/list'), headers: { 'mcp-session-id': 'from-elsewhere' } });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ id: 1, result: { tools: LISTING } });
  });

  test('has no stream for GET and nothing to DELETE', async () => {
    const { address } = await openDoor(async () => ({}));
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const answer = await fetch(`${address}/mcp`, { method });
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
    }
  });

  test.each([
    ['no message', '{"a":1}', {}, 400],
    ['null', 'null', {}, 400],
    ['a text', '"tools/list"', {}, 400],
    ['an id that is none', '{"jsonrpc":"2.0","id":{},"method":"ping"}', {}, 400],
    ['a version of the protocol that is not spoken', rpc('ping'), { 'mcp-protocol-version': '1999-01-01' }, 400],
    ['a client that takes no streams', rpc('ping'), { accept: 'application/json' }, 406],
  ])('refuses %s', async (_what, body, headers, status) => {
    const { address } = await openDoor(async () => ({}));
    const answer = await send(address, { body, headers });
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({ jsonrpc: '2.0', error: { code: expect.any(Number) } });
  });

  test('refuses web pages, and takes everything else that has an origin', async () => {
    const { address } = await openDoor(async () => ({}));
    const status = async (origin: string) => (await send(address, { body: rpc('ping'), headers: { origin } })).status;
    for (const origin of [
      'http://evil.example',
      'https://evil.example:7420',
      'http://127.0.0.1.evil.example',
      'http://',
    ]) {
      expect(await status(origin), origin).toBe(403);
    }
    for (const origin of ['http://localhost:3000', 'http://127.0.0.1:7420', 'http://[::1]:1', 'vscode-file://x']) {
      expect(await status(origin), origin).toBe(200);
    }
  });
});
