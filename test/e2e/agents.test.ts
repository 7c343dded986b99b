/** An agent's whole way with a stock MCP client: over HTTP and over stdio, on real processes that die in between. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { createApiKey } from '@muster/results';
import { spawnService, testQueueBackends } from '@muster/testkit';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Crash, CrashMoment } from '../chaos/fault.ts';
import { type Body, type Cluster, startCluster } from './muster-cluster.ts';

const API_MAIN = fileURLToPath(import.meta.resolve('@muster/api/main'));
const CLI = fileURLToPath(new URL('../../services/cli/src/main.ts', import.meta.url));
const RUNBOOKS = fileURLToPath(new URL('./agent-runbooks.ts', import.meta.url));
const CRASH_POINTS = fileURLToPath(new URL('../chaos/fault.ts', import.meta.url));
const SEVEN = [
  'workflow_definition_list',
  'workflow_run_start',
  'workflow_run_get',
  'workflow_run_list',
  'workflow_run_resume',
  'workflow_run_cancel',
  'workflow_run_history',
];
const WAIT = { wait_ms: 30_000, include: ['envelope'] };

interface Agent {
  readonly client: Client;
  /** Calls a tool that does what it was asked. */
  use(name: string, args?: object, options?: object): Promise<Body>;
  /** Calls a tool that refuses. */
  refused(name: string, args?: object): Promise<Body>;
}

const clients: Client[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close().catch(() => undefined)));
});

async function connect(transport: StdioClientTransport | StreamableHTTPClientTransport): Promise<Agent> {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport as never);
  clients.push(client);
  // The client checks what tools give against their schemas, once it has seen those.
  await client.listTools();
  const call = (name: string, args: object, options?: object) =>
    client.callTool({ name, arguments: args as Record<string, unknown> }, undefined, options) as Promise<Body>;
  return {
    client,
    async use(name, args = {}, options) {
      const result = await call(name, args, options);
      expect(result.isError, result.content[0].text).not.toBe(true);
      expect(JSON.parse(result.content[0].text)).toEqual(result.structuredContent);
      return result.structuredContent;
    },
    async refused(name, args = {}) {
      const result = await call(name, args);
      expect(result.isError).toBe(true);
      return JSON.parse(result.content[0].text).error;
    },
  };
}

const overHttp = (address: string, key: string, session?: string) =>
  connect(
    new StreamableHTTPClientTransport(new URL(`${address}/mcp`), {
      requestInit: {
        headers: { authorization: `Bearer ${key}`, ...(session !== undefined && { 'muster-session': session }) },
      },
    }),
  );

const overStdio = (cluster: Cluster, session = 'default') =>
  connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [CLI, 'mcp', '--session', session],
      env: { PATH: process.env.PATH ?? '', MUSTER_API_URL: cluster.address, MUSTER_API_KEY: cluster.key },
    }),
  );

const start = (runbook: string, input: object) => ({
  definition_name: runbook,
  definition_version: '1.0.0',
  input,
});

async function secondApi(cluster: Cluster, env: NodeJS.ProcessEnv = {}) {
  const api = spawnService(API_MAIN, { env: { ...cluster.env, ...env } });
  const ready = (message: unknown) => (message as { type?: string }).type === 'ready';
  const { address } = (await api.ready(ready)) as { address: string };
  return { address, exited: api.exited, kill: () => api.kill('SIGKILL') };
}

/** An API process that kills itself around the commit of the first run it accepts. */
const doomedApi = (cluster: Cluster, at: CrashMoment) =>
  secondApi(cluster, {
    NODE_OPTIONS: `--import=${CRASH_POINTS}`,
    CHAOS_CRASH: JSON.stringify({ statement: 'insert into muster\\.runs ', at, nth: 1 } satisfies Crash),
  });

const [queue] = (await testQueueBackends()).filter(({ name }) => name === 'postgres');
let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster(queue!, { MUSTER_RUNBOOKS: RUNBOOKS });
  await cluster.startWorker();
});
const goOn = (note: string) => writeFile(join(cluster.folder, 'signals', `go-${note}`), '');

describe.each<[string, (session: string) => Promise<Agent>]>([
  ['HTTP', (session) => overHttp(cluster.address, cluster.key, session)],
  ['stdio', (session) => overStdio(cluster, session)],
])('over %s', (door, open) => {
  test('an agent finds a runbook, starts it, waits once, and has its answer, rows, walk and history', async () => {
    const agent = await open('whole-way');
    const { tools } = await agent.client.listTools();
    expect(tools.map(({ name }) => name).slice(0, 9)).toEqual([...SEVEN, 'verdict_rows', 'artifact_get']);
    expect(tools.slice(9).map(({ name }) => name)).toEqual(
      expect.arrayContaining(['runbook_valves', 'runbook_slow_valves']),
    );
    // What there is no room for is named, and given when it is asked for by its name.
    const { definitions, omitted = [] } = await agent.use('workflow_definition_list');
    const names = [...definitions.map(({ name }: Body) => name), ...omitted];
    expect(names).toEqual(expect.arrayContaining(['valves', 'asked_valves', 'kubernetes_workloads']));
    const { definitions: named } = await agent.use('workflow_definition_list', { name: 'valves' });
    expect(named).toMatchObject([{ name: 'valves', input_schema: { type: 'object' } }]);
    const { run_id } = await agent.use('workflow_run_start', start('valves', { valves: 3 }));
    const run = await agent.use('workflow_run_get', { run_id, ...WAIT });
    expect(run).toMatchObject({ run_id, run_status: 'completed', envelope: { result: { rows_total: 3 } } });
    const page = await agent.use('verdict_rows', { run_id, standing: 'problem', limit: 2 });
    expect(page.rows.map(({ subject, verdict }: Body) => [subject, verdict])).toEqual([
      ['valve-0', 'burst'],
      ['valve-1', 'burst'],
    ]);
    const rest = await agent.use('verdict_rows', { run_id, standing: 'problem', after: page.next_after });
    expect(rest.rows.map(({ subject }: Body) => subject)).toEqual(['valve-2']);
    const { ref } = run.envelope.result.walk;
    expect((await agent.use('artifact_get', { ref, offset: 0, length: 200 })).text).toMatch(/"stage"/);
    const { entries } = await agent.use('workflow_run_history', { run_id });
    expect([entries[0].kind, entries.at(-1).kind]).toEqual(['run_started', 'run_completed']);
    expect((await agent.use('workflow_run_list')).runs[0].run_id).toBe(run_id);
    expect(await agent.refused('workflow_run_cancel', { run_id })).toMatchObject({ retryable: false });
  });

  test('a wait is woken by the end of the run and tells of progress; one that is cancelled ends, and the run goes on', async () => {
    const agent = await open('waiting');
    const note = `waiting-${door}`;
    const { run_id } = await agent.use('workflow_run_start', start('slow_valves', { valves: 1, note }));
    await cluster.told(`begun-${note}`);
    const running = await agent.use('workflow_run_get', { run_id, wait_ms: 0, include: ['envelope'] });
    expect(running).toMatchObject({ run_status: 'running', poll_after_ms: expect.any(Number) });
    const stop = new AbortController();
    const given = agent.use('workflow_run_get', { run_id, ...WAIT }, { signal: stop.signal });
    stop.abort('enough');
    await expect(given).rejects.toThrow(/enough/);
    const progress: unknown[] = [];
    const waited = agent.use(
      'workflow_run_get',
      { run_id, ...WAIT },
      { onprogress: (one: unknown) => progress.push(one) },
    );
    await goOn(note);
    expect(await waited).toMatchObject({ run_status: 'completed', envelope: { result: { rows_total: 1 } } });
  });

  test('a question reaches the agent, a wrong answer is explained, a right one goes on, and it is taken once', async () => {
    const agent = await open('asking');
    const { run_id } = await agent.use('workflow_run_start', start('asked_valves', { valves: 1 }));
    const asked = await agent.use('workflow_run_get', { run_id, ...WAIT });
    expect(asked).toMatchObject({ run_status: 'interrupted' });
    expect(JSON.stringify(asked)).toContain('May the valves be touched?');
    const wrong = await agent.refused('workflow_run_resume', { run_id, resume: { go_on: 'perhaps' } });
    expect(wrong).toMatchObject({ code: 'resume_invalid', place: expect.stringContaining('go_on'), retryable: false });
    await agent.use('workflow_run_resume', { run_id, resume: { go_on: true } });
    const run = await agent.use('workflow_run_get', { run_id, ...WAIT });
    expect(run).toMatchObject({
      run_status: 'completed',
      envelope: { result: { walk: { walk_segment: 'post-resume' } } },
    });
    const again = await agent.refused('workflow_run_resume', { run_id, resume: { go_on: true } });
    expect(again).toMatchObject({ code: 'not_interrupted' });
  });

  test('a runbook that is a tool of its own answers with its envelope', async () => {
    const agent = await open('own-name');
    const answered = await agent.use('runbook_valves', { valves: 2 });
    expect(JSON.stringify(answered)).toContain('valve-1');
    expect(answered).toMatchObject({ envelope: { result: { rows_total: 2 } } });
  });

  test('a run that is cancelled ends with an answer, and a second cancel says so', async () => {
    const agent = await open('stopping');
    const note = `stopping-${door}`;
    const { run_id } = await agent.use('workflow_run_start', start('slow_valves', { valves: 1, note }));
    await cluster.told(`begun-${note}`);
    await agent.use('workflow_run_cancel', { run_id, reason: 'not needed' });
    expect(await agent.use('workflow_run_get', { run_id, ...WAIT })).toMatchObject({ run_status: 'cancelled' });
    expect(await agent.use('workflow_run_cancel', { run_id })).toEqual({
      run_id,
      run_status: 'cancelled',
      idempotent: true,
    });
  });
});

describe('an API that dies before it could answer a start', () => {
  test.each<[string, CrashMoment]>([
    ['before the commit', 'before_commit'],
    ['in the commit', 'in_commit'],
    ['after the commit', 'after_commit'],
  ])('%s: asked again with its key, there is one run', async (_, at) => {
    const doomed = await doomedApi(cluster, at);
    const agent = await overHttp(doomed.address, cluster.key, 'again');
    const asked = { ...start('valves', { valves: 1 }), idempotency_key: `dies-${at}` };
    await expect(agent.client.callTool({ name: 'workflow_run_start', arguments: asked })).rejects.toThrow();
    expect(await doomed.exited).toMatchObject({ signal: 'SIGKILL' });
    const other = await overHttp(cluster.address, cluster.key, 'again');
    const { run_id } = await other.use('workflow_run_start', asked);
    expect(await other.use('workflow_run_get', { run_id, ...WAIT })).toMatchObject({ run_status: 'completed' });
    expect(await other.use('workflow_run_start', asked)).toMatchObject({ run_id });
    const { rows } = await cluster.db.query('select from muster.runs where idempotency_key = $1', [`dies-${at}`]);
    expect(rows).toHaveLength(1);
  });
});

describe('a session outlives what serves it', () => {
  test('a run is found again by a new client, on a second replica, and after its API was killed', async () => {
    const note = 'outlives';
    const first = await secondApi(cluster);
    const agent = await overHttp(first.address, cluster.key, 'durable');
    const { run_id } = await agent.use('workflow_run_start', start('slow_valves', { valves: 1, note }));
    // Nothing but the answer was there when it died: it was given after the commit.
    await first.kill();
    await cluster.told(`begun-${note}`);
    const other = await overHttp(cluster.address, cluster.key, 'durable');
    expect((await other.use('workflow_run_list')).runs.map((run: Body) => run.run_id)).toContain(run_id);
    const second = await secondApi(cluster);
    const again = await overHttp(second.address, cluster.key, 'durable');
    const waits = [other, again].map((one) => one.use('workflow_run_get', { run_id, ...WAIT }));
    await goOn(note);
    for (const run of await Promise.all(waits)) expect(run).toMatchObject({ run_id, run_status: 'completed' });
    await second.kill();
  });

  test('another session, another key and another tenant do not have it, and a tenant-wide key does', async () => {
    const agent = await overHttp(cluster.address, cluster.key, 'mine');
    const { run_id } = await agent.use('workflow_run_start', start('valves', { valves: 1 }));
    const run = await agent.use('workflow_run_get', { run_id, ...WAIT });
    const key = async (tenant: string, tenantWide = false) =>
      (await createApiKey(cluster.db, { tenant, name: 'agent', role: 'admin', tenantWide })).key;
    const strangers = [
      await overHttp(cluster.address, cluster.key, 'yours'),
      await overHttp(cluster.address, await key('default'), 'mine'),
      await overHttp(cluster.address, await key('elsewhere', true), 'mine'),
    ];
    for (const stranger of strangers) {
      expect((await stranger.use('workflow_run_list')).runs).toEqual([]);
      for (const [name, args] of [
        ['workflow_run_get', { run_id }],
        ['workflow_run_cancel', { run_id }],
        ['workflow_run_resume', { run_id, resume: {} }],
        ['workflow_run_history', { run_id }],
        ['verdict_rows', { run_id }],
      ] as const) {
        expect(await stranger.refused(name, args), name).toMatchObject({ code: 'run_not_found' });
      }
      const { ref } = run.envelope.result.walk;
      expect(await stranger.refused('artifact_get', { ref })).toMatchObject({ code: 'artifact_not_found' });
    }
    const auditor = await overHttp(cluster.address, await key('default', true), 'its-own');
    expect((await auditor.use('workflow_run_list')).runs.map((one: Body) => one.run_id)).toContain(run_id);
    expect(await auditor.use('workflow_run_get', { run_id })).toMatchObject({ run_id });
    expect(await auditor.use('verdict_rows', { run_id })).toMatchObject({ rows: [{ subject: 'valve-0' }] });
  });

  test('over stdio too: the API goes away, its requests are answered with that, and the next one finds it again', async () => {
    const first = await secondApi(cluster);
    const agent = await overStdio({ ...cluster, address: first.address });
    await agent.use('workflow_definition_list');
    await first.kill();
    await expect(agent.client.callTool({ name: 'workflow_definition_list', arguments: {} })).rejects.toThrow(
      /cannot be reached/,
    );
    const { port } = new URL(first.address);
    const again = spawnService(API_MAIN, { env: { ...cluster.env, MUSTER_PORT: port } });
    await again.ready((message) => (message as { type?: string }).type === 'ready');
    await agent.use('workflow_definition_list');
    await again.kill('SIGKILL');
  });
});
