/**
 * Requests that nobody would write by hand, at every door: no surprise of ours comes of them, nothing of another tenant or
 * session is in an answer, and the process answers the next request.
 */
import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Fixture, openFixture } from './fixture.ts';

const RUNS = 40;
const MCP_RUNS = 300;
const TOOLS = [
  'workflow_definition_list',
  'workflow_run_start',
  'workflow_run_get',
  'workflow_run_list',
  'workflow_run_resume',
  'workflow_run_cancel',
  'workflow_run_history',
  'verdict_rows',
  'artifact_get',
];
/** What only the other tenant's run has in it. */
const FOREIGN = `foreign-${randomUUID()}`;

let fixture: Fixture;
let foreignRun: string;
let ownRun: string;
beforeAll(async () => {
  fixture = await openFixture();
  const start = async (key: string, note: string) =>
    (await fixture.ask('/v1/runs', { method: 'POST', key, body: { runbook: 'anything', input: { note } } })).body
      .run_id;
  foreignRun = await start(fixture.keys.other, FOREIGN);
  ownRun = await start(fixture.keys.admin, 'own');
});
afterAll(() => fixture.close());

/** Values of every sort, ids that exist and ids that do not among them. */
const value = fc.oneof(
  { weight: 3, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }) },
  fc.constantFrom('\u0000', '\ud800', "'; drop table runs; --", '../../etc/passwd', '%00', '__proto__', 'constructor'),
  fc.constantFrom(1e308, -1, 2 ** 53, 0.1, Number.MAX_SAFE_INTEGER),
);
const ids = fc.oneof(
  fc.uuid(),
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.constantFrom('0'.repeat(32), 'art_', '..'),
);

function textOf(item: unknown): string {
  return (typeof item === 'string' ? item : (JSON.stringify(item) ?? '')).toWellFormed();
}

function expectHarmless(answer: Answer, what: string): void {
  expect(answer.status, `${what}: ${answer.text.slice(0, 300)}`).toBeLessThan(500);
  expect(answer.text.includes(FOREIGN) || answer.text.includes(fixture.keys.other), what).toBe(false);
}

describe('REST', () => {
  test('every route, with queries, paths and bodies of every sort, and the ids of another tenant', async () => {
    for (const { method, url } of fixture.table.routes) {
      // Streams that do not end by themselves have a test of their own.
      if (url === '/mcp' || url.endsWith('/events')) continue;
      const request = fc.record({
        id: fc.oneof(ids, fc.constant(foreignRun), fc.constant(ownRun)),
        query: fc.dictionary(
          fc.constantFrom(
            'limit',
            'after',
            'status',
            'format',
            'standing',
            'include',
            'after_revision',
            'session',
            'x',
          ),
          value,
          { maxKeys: 3 },
        ),
        body: fc.option(
          fc.oneof(
            value,
            fc.dictionary(
              fc.constantFrom('runbook', 'input', 'name', 'role', 'reason', 'resume', 'only', 'subjects', 'now', 'x'),
              value,
              { maxKeys: 4 },
            ),
          ),
          { nil: undefined },
        ),
      });
      await fc.assert(
        fc.asyncProperty(request, async ({ id, query, body }) => {
          const path = url.replace(/:\w+/g, () => encodeURIComponent(id.toWellFormed()));
          const search = new URLSearchParams();
          for (const [key, item] of Object.entries(query)) search.set(key, textOf(item));
          const answer = await fixture.ask(`${path}?${search}`, {
            method,
            ...(method !== 'GET' && method !== 'HEAD' && body !== undefined && { body }),
          });
          expectHarmless(answer, `${method} ${url}`);
        }),
        { numRuns: RUNS },
      );
    }
  });

  test('followed events, from places of every sort, of which the client takes the beginning and leaves', async () => {
    const address = await fixture.listen();
    const place = fc.oneof(fc.string({ maxLength: 70 }), fc.constantFrom('1.0', '1-0', '-1', '2147483648.1', '\u00ff'));
    const request = fc.record({ id: fc.oneof(ids, fc.constant(foreignRun), fc.constant(ownRun)), place });
    await fc.assert(
      fc.asyncProperty(request, async ({ id, place }) => {
        const leave = new AbortController();
        const path = `/v1/runs/${encodeURIComponent(id.toWellFormed())}/events`;
        // What cannot stand in a header never gets as far as the door.
        const header = place.replace(/[^\x20-\x7e\x80-\xff]/g, '').trim();
        const response = await fetch(`${address}${path}`, {
          headers: { authorization: `Bearer ${fixture.keys.admin}`, 'last-event-id': header },
          signal: leave.signal,
        });
        const first = response.body === null ? undefined : await response.body.getReader().read();
        leave.abort();
        const text = new TextDecoder().decode(first?.value);
        expectHarmless({ status: response.status, text } as Answer, `GET ${path}`);
      }),
      { numRuns: MCP_RUNS },
    );
  });

  test('bytes that are no JSON', async () => {
    const posts = fixture.table.routes
      .filter(({ method }) => method === 'POST' || method === 'PUT')
      .map(({ method, url }) => ({ method, url }));
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...posts), fc.uint8Array({ maxLength: 400 }), async ({ method, url }, bytes) => {
        const path = url.replace(/:\w+/g, ownRun);
        const headers = { 'content-type': 'application/json' };
        expectHarmless(await fixture.ask(path, { method, raw: Buffer.from(bytes), headers }), `${method} ${url}`);
      }),
      { numRuns: MCP_RUNS },
    );
  });
});

describe('MCP', () => {
  const headers = {
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'muster-session': 'fuzzed',
  };
  const post = (body: string | Buffer, key = fixture.keys.admin) =>
    fixture.ask('/mcp', { method: 'POST', raw: body, headers, key });

  test('tool calls with arguments of every sort, the ids of another session and tenant among them', async () => {
    const names = fc.constantFrom(
      'run_id',
      'after',
      'limit',
      'input',
      'definition_name',
      'definition_version',
      'resume',
      'reason',
      'wait_ms',
      'include',
      'ref',
      'offset',
      'length',
      'standing',
      'x',
    );
    const given = fc.dictionary(names, fc.oneof(value, fc.constantFrom('anything', '1.0.0')), { maxKeys: 5 });
    const run = fc.option(fc.constantFrom('foreign', 'own'), { nil: undefined });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...TOOLS), given, run, async (name, args, whose) => {
        // What waits would make this test wait, and is not what it is about.
        const { wait_ms: _wait, ...rest } = args;
        const wait_ms =
          typeof args.wait_ms === 'number' && args.wait_ms > 0
            ? {}
            : 'wait_ms' in args
              ? { wait_ms: args.wait_ms }
              : {};
        const run_id = whose === undefined ? {} : { run_id: whose === 'own' ? ownRun : foreignRun };
        const call = {
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name, arguments: { ...rest, ...wait_ms, ...run_id } },
        };
        const answer = await post(JSON.stringify(call));
        expectHarmless(answer, name);
        // Another session of the same key is as far away as another tenant.
        expect(answer.text.includes('"input":{"note"'), name).toBe(false);
        expect(answer.text).not.toContain('internal_error');
      }),
      { numRuns: MCP_RUNS },
    );
  });

  test('messages of every sort', async () => {
    const message = fc.oneof(
      fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
      fc.json().map((text) => text),
      fc
        .record({
          jsonrpc: fc.constant('2.0'),
          id: fc.oneof(fc.integer(), fc.string(), fc.constant(null)),
          method: fc.oneof(
            fc.string(),
            fc.constantFrom(
              'initialize',
              'tools/list',
              'tools/call',
              'ping',
              'notifications/cancelled',
              'resources/list',
            ),
          ),
          params: fc.jsonValue(),
        })
        .map((one) => JSON.stringify(one)),
    );
    await fc.assert(
      fc.asyncProperty(message, async (body) => expectHarmless(await post(body), 'POST /mcp')),
      { numRuns: MCP_RUNS },
    );
    const alive = await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }));
    expect(alive.status).toBe(200);
  });

  test('every tool finds nothing of another session of the same key, or of another tenant', async () => {
    for (const run_id of [ownRun, foreignRun]) {
      for (const name of TOOLS.filter((tool) => tool.includes('run_') && !/start|list/.test(tool))) {
        const resume = name.endsWith('resume') ? { resume: {} } : {};
        const call = {
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name, arguments: { run_id, ...resume } },
        };
        expect((await post(JSON.stringify(call))).text, name).toContain('run_not_found');
      }
    }
  });
});
