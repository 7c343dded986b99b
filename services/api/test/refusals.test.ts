import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { ArtifactStoreUnavailableError } from '@muster/artifacts';
import { openDatabase } from '@muster/results';
import { parseStrictJson } from '@muster/workflow-tools';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PROBLEMS } from '../src/problems.ts';
import { expectProblem, type Fixture, openFixture } from './fixture.ts';
import { keepArtifact } from './run-stages.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

const post = (raw: string | Buffer, headers: Record<string, string> = {}) =>
  fixture.ask('/v1/runs', { method: 'POST', raw, headers: { 'content-type': 'application/json', ...headers } });

describe('malformed requests', () => {
  test.each<[string, string | Buffer]>([
    ['no JSON', 'SECRET'],
    ['a cut text', '{"runbook": "SECRET'],
    ['two values', '{} {"a":"SECRET"}'],
    ['a comment', '{} // SECRET'],
    ['a key twice', '{"runbook":"SECRET","runbook":"fleet_check","input":{}}'],
    ['a key twice, once escaped', '{"runbook":"fleet_check","input":{"a":1,"\\u0061":2}}'],
    ['a prototype', '{"runbook":"fleet_check","input":{"__proto__":{"x":"SECRET"}}}'],
    ['bytes that are no UTF-8', Buffer.from([0x22, 0xff, 0xfe, 0x22])],
    ['a depth of 65', `${'['.repeat(65)}${']'.repeat(65)}`],
    ['a depth of 400,000', `${'['.repeat(400_000)}${']'.repeat(400_000)}`],
  ])('%s is refused as no strict JSON, without repeating it', async (_what, raw) => {
    const answer = await post(raw);
    expectProblem(answer, 400, 'invalid_json');
    expect(answer.text).not.toContain('SECRET');
  });

  test.each(['', 'null', '1', '"x"', '[]', 'true'])('a body that is no object is refused: %s', async (raw) => {
    expectProblem(await post(raw), 400, 'invalid_request');
  });

  test('another type is refused, and so is none', async () => {
    for (const type of ['text/plain', 'application/xml', 'application/x-www-form-urlencoded', 'nonsense']) {
      expectProblem(await post('{}', { 'content-type': type }), 415, 'unsupported_media_type');
    }
    const answer = await fixture.ask('/v1/runs', { method: 'POST', raw: '{}' });
    expectProblem(answer, 415, 'unsupported_media_type');
  });

  test('a body over 1 MiB is refused', async () => {
    expectProblem(await post(JSON.stringify({ a: 'x'.repeat(1024 * 1024) })), 413, 'body_too_large');
  });

  test('unknown paths are not found and known ones name their methods', async () => {
    for (const url of ['/', '/v1', '/v1/runs/x/', '/v1/nothing', '/v2/runs', `/v1/runbooks/${'x'.repeat(500)}`]) {
      expectProblem(await fixture.ask(url, { key: undefined }), 404, 'not_found');
    }
    const answer = await fixture.ask('/v1/runs', { method: 'PUT', body: {} });
    expectProblem(answer, 405, 'method_not_allowed');
    expect(answer.headers.allow).toBe('GET, HEAD, POST');
    expectProblem(await fixture.ask('/v1/runs/x/cancel'), 405, 'method_not_allowed');
  });

  test('a URL that cannot be decoded is refused', async () => {
    expectProblem(await fixture.ask('/v1/runbooks/%E0%A4%A'), 400, 'invalid_http');
  });

  test('bytes that are no HTTP, and headers without end, are answered and the connection closed', async () => {
    const address = new URL(await fixture.listen());
    for (const [bytes, status, code] of [
      ['NONSENSE\r\n\r\n', 400, 'invalid_http'],
      [`GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
    ] as const) {
      const text = await exchange(address, bytes);
      expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      expect(JSON.parse(text.split('\r\n\r\n')[1]!)).toMatchObject({ status, code });
    }
  });
});

describe('stores that are away', () => {
  test('readiness names what is missing, and requests are refused without an address or a password', async () => {
    const away = openDatabase({ url: 'postgres://someone:hidden@127.0.0.1:1/none' });
    const lame = await openFixture({ db: away });
    lame.artifacts.checkAvailable = () =>
      Promise.reject(
        new ArtifactStoreUnavailableError('check', 'bucket', Object.assign(new Error('no'), { code: 'X' })),
      );
    try {
      expect((await lame.ask('/healthz', { key: undefined })).body).toEqual({ status: 'alive' });
      const ready = await lame.ask('/readyz', { key: undefined });
      expectProblem(ready, 503, 'not_ready');
      expect(ready.body.checks).toEqual({
        database: { ok: false, why: expect.stringContaining('127.0.0.1:1') },
        artifacts: { ok: false, why: expect.stringContaining('artifact store unavailable') },
      });
      const answer = await lame.ask('/v1/runs');
      expectProblem(answer, 503, 'results_unavailable');
      expect(answer.headers['retry-after']).toBe('2');
      for (const text of [ready.text, answer.text, ...lame.logs]) expect(text).not.toContain('hidden');
    } finally {
      await away.close();
      await lame.close();
    }
  });

  test('a ready API says so', async () => {
    const answer = await fixture.ask('/readyz', { key: undefined });
    expect(answer).toMatchObject({
      status: 200,
      body: { status: 'ready', checks: { database: { ok: true }, artifacts: { ok: true } } },
    });
  });

  test('a surprise is an internal error that tells nothing, and is logged by name and place', async () => {
    const surprised = await openFixture();
    surprised.artifacts.getStream = () => Promise.reject(new TypeError('SECRET in a foreign message'));
    try {
      const run = await surprised.ask('/v1/runs', { method: 'POST', body: { runbook: 'anything', input: {} } });
      const { ref } = await keepArtifact(surprised, run.body.run_id, Buffer.from('x'));
      const answer = await surprised.ask(`/v1/artifacts/${ref}`);
      expectProblem(answer, 500, 'internal_error');
      const logged = surprised.logs.filter((text) => text.includes('internal_error'));
      expect(logged).toHaveLength(1);
      expect(logged[0]).toContain('TypeError');
      expect(logged[0]).toContain(answer.headers['x-request-id']);
      for (const text of [answer.text, ...surprised.logs]) expect(text).not.toContain('SECRET');
    } finally {
      await surprised.close();
    }
  });
});

describe('properties', () => {
  const routes = () => fixture.table.routes.filter(({ method }) => method !== 'HEAD' && method !== 'DELETE');
  const piece = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.constantFrom('\u0000', '\ud800', '1e999', '-1', '__proto__', 'null', '../..', "' or 1=1", '9'.repeat(40)),
  );

  test('no path, query, header or body whatever makes a 5xx', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(),
        piece,
        fc.dictionary(fc.constantFrom('limit', 'after', 'verdict', 'target', 'session', 'status', 'name', 'x'), piece),
        fc.oneof(
          fc.json({ maxDepth: 3 }),
          piece,
          fc
            .record({ runbook: fc.constantFrom('anything', 'fleet_check'), input: fc.object() })
            .map((value) => JSON.stringify(value)),
          fc.constantFrom(
            '{"runbook":"anything","input":{"n":1e999}}',
            '{"runbook":"anything","input":{"s":"\\u0000\\ud800"}}',
          ),
        ),
        piece,
        async (which, part, query, body, header) => {
          const route = routes()[which % routes().length]!;
          const path = route.url.replace(/:\w+/g, () => encode(part) || 'x');
          const search = Object.entries(query).map(([name, value]) => `${name}=${encode(value)}`);
          const answer = await fixture.ask(`${path}?${search.join('&')}`, {
            method: route.method,
            ...(route.method === 'POST' && { raw: body }),
            headers: {
              ...(route.method === 'POST' && { 'content-type': 'application/json' }),
              'idempotency-key': header.replace(/[^\x20-\x7e]/g, '?'),
            },
          });
          expect(answer.status).toBeLessThan(500);
          // MCP's own refusals are messages of its protocol.
          const isMessage = route.url === '/mcp' && answer.body?.jsonrpc === '2.0';
          if (answer.status >= 400 && !isMessage) expect(answer.body.code in PROBLEMS).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });

  test('strict JSON reads what JSON writes, to the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const text = JSON.stringify(value);
        if (text.includes('__proto__')) return;
        expect(parseStrictJson(Buffer.from(text))).toEqual(JSON.parse(text));
      }),
    );
  });
});

test('the table of problems is the documented one', () => {
  const document = readFileSync(new URL('../../../docs/problems.md', import.meta.url), 'utf8');
  const documented = document
    .split('\n')
    .filter((text) => text.startsWith('| `'))
    .map((text) => text.split('|').map((cell) => cell.trim()));
  const listed = documented.map(([, code, status, title, remedy]) => [code, status, title, remedy]);
  const known = Object.entries(PROBLEMS).map(([code, { status, title, remedy }]) => [
    `\`${code}\``,
    String(status),
    title,
    remedy,
  ]);
  expect(listed).toEqual(known);
});

function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

function exchange(address: URL, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(address.port), address.hostname, () => socket.write(bytes));
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(text));
  });
}
