/** The lines that README and guide give to agents, as they stand there: a stock client connects with them to `npm start`. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type SpawnedService, spawnService } from '@muster/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Body } from './muster-cluster.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MAIN = fileURLToPath(new URL('../../services/cli/src/main.ts', import.meta.url));
const PAGES = ['README.md', 'docs/guides/agents.md'];
const PODS = {
  kind: 'List',
  items: [{ kind: 'Pod', apiVersion: 'v1', metadata: { name: 'web', namespace: 'shop' }, status: { phase: 'Failed' } }],
};

let folder: string;
let stack: SpawnedService;
let env: Record<string, string>;
let address: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'muster-agent-'));
  const clean = Object.entries(process.env).filter(([name]) => !/^(MUSTER|DATABASE|REDIS|S3)_/.test(name));
  env = { ...Object.fromEntries(clean), MUSTER_DATA_DIR: join(folder, 'data') } as Record<string, string>;
  // Here one key goes the whole way; by default it could not answer what its own run asks.
  stack = spawnService(MAIN, { args: ['serve'], env: { ...env, MUSTER_PORT: '0', MUSTER_SELF_APPROVAL: 'allow' } });
  await stack.ready(/Muster is up at/);
  address = /Muster is up at (\S+?);/.exec(stack.stdout.join('\n'))?.[1] ?? '';
});
afterAll(async () => {
  stack.kill('SIGTERM');
  await stack.exited;
  await rm(folder, { recursive: true, force: true });
});

/** `command` and `args` of a page's entry, with this clone's folder in the place of the example's. */
async function entryOf(page: string): Promise<{ command: string; args: string[] }> {
  const text = await readFile(join(ROOT, page), 'utf8');
  const block = [...text.matchAll(/```json\n([\s\S]*?)```/g)]
    .map(([, json = '']) => json)
    .find((json) => json.includes('"mcp"'));
  const json = block?.trim().startsWith('{') ? block : `{${block}}`;
  const parsed: Body = JSON.parse(json);
  const { command, args } = (parsed.mcpServers ?? parsed).muster;
  return { command, args: args.map((argument: string) => (argument === '/path/to/muster' ? ROOT : argument)) };
}

/** Address and header of a page's line for HTTP, with this API in the place of the default address. */
async function lineOf(page: string): Promise<{ url: URL; headers: Record<string, string> }> {
  const text = await readFile(join(ROOT, page), 'utf8');
  const [, path = '', header = ''] = /mcp add .* http:\/\/127\.0\.0\.1:7420(\S+) --header "([^"]+)"/.exec(text) ?? [];
  const value = execFileSync('sh', ['-c', `printf %s "${header}"`], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...env, PATH: process.env.PATH ?? '' },
  });
  const [name = '', ...rest] = value.split(': ');
  return { url: new URL(path, address), headers: { [name]: rest.join(': ') } };
}

async function connect(transport: StdioClientTransport | StreamableHTTPClientTransport) {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport as never);
  const use = async (name: string, args: Record<string, unknown> = {}): Promise<Body> => {
    const result: Body = await client.callTool({ name, arguments: args });
    expect(result.isError, result.content[0].text).not.toBe(true);
    return result.structuredContent;
  };
  return { client, use };
}

/** Starts, waits, gets, answers, reads the history, cancels. */
async function goTheWholeWay({ client, use }: Awaited<ReturnType<typeof connect>>, session: string) {
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['workflow_definition_list', 'workflow_run_start', 'workflow_run_history', 'verdict_rows']),
  );
  const key = (await readFile(join(folder, 'data', 'admin.key'), 'utf8')).trim();
  const headers = { authorization: `Bearer ${key}`, 'muster-session': session };
  const upload = await fetch(`${address}/v1/uploads?name=pods.json`, {
    method: 'POST',
    headers,
    body: JSON.stringify(PODS),
  });
  const { ref }: Body = await upload.json();
  const asked = (ask_first: boolean) => ({
    definition_name: 'kubernetes_workloads',
    definition_version: '1.0.0',
    input: { files: [{ ref, name: 'pods.json' }], ask_first },
  });
  const { run_id } = await use('workflow_run_start', asked(true));
  expect(await use('workflow_run_get', { run_id, wait_ms: 30_000 })).toMatchObject({ run_status: 'interrupted' });
  await use('workflow_run_resume', { run_id, resume: { approved: true } });
  const run = await use('workflow_run_get', { run_id, wait_ms: 30_000, include: ['envelope'] });
  expect(run).toMatchObject({ run_status: 'completed', envelope: { result: { rows_total: 1 } } });
  const { entries } = await use('workflow_run_history', { run_id });
  expect(entries.map(({ kind }: Body) => kind)).toEqual(expect.arrayContaining(['run_interrupted', 'run_resumed']));
}

test.each(PAGES)('the line for HTTP in %s connects an agent that goes the whole way', async (page) => {
  // The lines name the key's file below the folder that one stands in.
  execFileSync('ln', ['-sfn', join(folder, 'data'), join(folder, '.muster')]);
  const { url, headers } = await lineOf(page);
  const agent = await connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  await goTheWholeWay(agent, 'default');
  await agent.client.close();
});

test.each(PAGES)(
  'the entry for standard input and output in %s connects an agent that goes the whole way',
  async (page) => {
    const agent = await connect(new StdioClientTransport({ ...(await entryOf(page)), env, cwd: folder }));
    await goTheWholeWay(agent, 'default');
    await agent.client.close();
  },
);
