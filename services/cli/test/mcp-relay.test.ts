/** `muster mcp` between an agent and whatever answers, or does not answer, at the API's address. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { linesOf, muster } from './muster-process.ts';

interface Asked {
  readonly headers: IncomingMessage['headers'];
  readonly message: { id?: number | string; method?: string };
}
type Reply = (asked: Asked, response: ServerResponse) => void;

const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** Something that answers POST at an address of its own. */
async function answering(reply: Reply): Promise<{ env: Record<string, string>; asked: Asked[] }> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const one = { headers: request.headers, message: JSON.parse(Buffer.concat(chunks).toString()) };
    asked.push(one);
    reply(one, response);
  });
  open.push(server);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { env: { MUSTER_API_URL: address, MUSTER_API_KEY: 'mk_secret' }, asked };
}

const json = (response: ServerResponse, status: number, body: unknown, type = 'application/json') =>
  void response.writeHead(status, { 'content-type': type }).end(JSON.stringify(body));
const event = (message: unknown) => `event: message\ndata: ${JSON.stringify(message)}\n\n`;
const streaming = { 'content-type': 'text/event-stream' };

const request = (id: number | string, method: string, params: object = {}) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params });
const notification = (method: string, params: object = {}) => JSON.stringify({ jsonrpc: '2.0', method, params });

/** What comes out for lines that go in. */
async function relay(lines: readonly string[], env: Record<string, string>, args: readonly string[] = []) {
  const { code, out, err } = await muster(['mcp', ...args], { env, stdin: lines.map((line) => `${line}\n`).join('') });
  return { code, err, messages: linesOf(out).map((line) => JSON.parse(line)) };
}

describe('every request is answered once', () => {
  test('with what the API says, as JSON or as a stream, notifications on the way included', async () => {
    const { env, asked } = await answering(({ message: { id, method } }, response) => {
      if (id === undefined) return void response.writeHead(202).end();
      if (method === 'initialize') {
        return json(response, 200, { jsonrpc: '2.0', id, result: { protocolVersion: '2025-06-18' } });
      }
      response.writeHead(200, streaming);
      response.write(event({ jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } }));
      response.end(event({ jsonrpc: '2.0', id, result: { done: true } }));
    });
    const lines = [
      request(1, 'initialize'),
      notification('notifications/initialized'),
      request('two', 'tools/call', { name: 'x' }),
    ];
    const { code, err, messages } = await relay(lines, env, ['--session', 'blue']);
    expect([code, err]).toEqual([0, '']);
    expect(messages.filter(({ id }) => id !== undefined).map(({ id, result }) => [id, result])).toEqual(
      expect.arrayContaining([
        [1, { protocolVersion: '2025-06-18' }],
        ['two', { done: true }],
      ]),
    );
    expect(messages).toHaveLength(3);
    expect(messages).toContainEqual(expect.objectContaining({ method: 'notifications/progress' }));
    for (const { headers } of asked) {
      expect(headers).toMatchObject({ authorization: 'Bearer mk_secret', 'muster-session': 'blue' });
    }
  });

  test.each<[string, Reply, object]>([
    [
      'a stream that breaks off',
      (_asked, response) => {
        response.writeHead(200, streaming);
        response.write(': waiting\n\n', () => response.destroy());
      },
      { code: 'api_away', retryable: true },
    ],
    [
      'a stream that ends in the middle of an event',
      (_asked, response) => void response.writeHead(200, streaming).end('event: message\ndata: {"jsonrpc"'),
      { code: 'api_away', retryable: true },
    ],
    ['a connection that is cut', (_asked, response) => void response.destroy(), { code: 'api_away', retryable: true }],
    [
      'a refused key',
      (_asked, response) =>
        json(response, 401, { detail: 'the key is not valid', code: 'unauthorized' }, 'application/problem+json'),
      { code: 'unauthorized', retryable: false },
    ],
    [
      'too many that wait',
      (_asked, response) =>
        json(response, 429, { detail: 'too many wait', code: 'too_many_waiters' }, 'application/problem+json'),
      { code: 'too_many_waiters', retryable: true },
    ],
    [
      'a refused message',
      (_asked, response) => json(response, 400, { jsonrpc: '2.0', id: null, error: { code: -32600, message: 'no' } }),
      { code: 'refused', retryable: false },
    ],
    [
      'something else that answers',
      (_asked, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
      { code: 'no_muster_api', retryable: false },
    ],
  ])('or with why there is no answer: %s', async (_what, reply, data) => {
    const { env } = await answering(reply);
    const { code, err, messages } = await relay([request(7, 'tools/call', { name: 'x' })], env);
    expect([code, err]).toEqual([0, '']);
    expect(messages).toEqual([
      { jsonrpc: '2.0', id: 7, error: { code: expect.any(Number), message: expect.any(String), data } },
    ]);
    expect(JSON.stringify(messages)).not.toContain('mk_secret');
  });

  test('an API that is away is an answer to each request, and no end', async () => {
    const env = { MUSTER_API_URL: 'http://127.0.0.1:1', MUSTER_API_KEY: 'mk_secret' };
    const { code, messages } = await relay([request(1, 'ping'), request(2, 'ping')], env);
    expect(code).toBe(0);
    expect(messages.map(({ id }) => id).sort()).toEqual([1, 2]);
    expect(messages[0].error.message).toMatch(/the API at http:\/\/127\.0\.0\.1:1 cannot be reached \(/);
  });
});

test('a request that was cancelled may go without an answer', async () => {
  const waiting = new Set<ServerResponse>();
  const { env, asked } = await answering(({ message: { method } }, response) => {
    if (method === 'tools/call') {
      waiting.add(response.writeHead(200, streaming));
      response.write(': waiting\n\n');
    } else {
      response.writeHead(202).end();
      for (const one of waiting) one.end();
    }
  });
  const lines = [request(5, 'tools/call', { name: 'x' }), notification('notifications/cancelled', { requestId: 5 })];
  const { code, messages } = await relay(lines, env);
  expect([code, messages]).toEqual([0, []]);
  expect(asked.map(({ message }) => message.method).sort()).toEqual(['notifications/cancelled', 'tools/call']);
});

test('what is no message is passed over with a line on standard error, and nothing on standard output', async () => {
  const { env } = await answering(({ message: { id } }, response) =>
    json(response, 200, { jsonrpc: '2.0', id, result: {} }),
  );
  const { code, err, messages } = await relay(['nonsense', request(1, 'ping')], env);
  expect(code).toBe(0);
  expect(linesOf(err)).toEqual(['muster: a line on standard input is no JSON-RPC message, and is passed over']);
  expect(messages).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }]);
});

test.each([
  [['--session', 'no blanks'], {}, /--session/],
  [[], { MUSTER_API_URL: 'localhost:80' }, /MUSTER_API_URL/],
])('wrong usage ends it at once: %j %j', async (args, env, said) => {
  const { code, out, err } = await muster(['mcp', ...args], { env, stdin: '' });
  expect([code, out]).toEqual([2, '']);
  expect(linesOf(err)).toHaveLength(1);
  expect(err).toMatch(said);
});
