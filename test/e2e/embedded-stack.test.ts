/** The embedded stack as a person has it: it comes up, survives its ends, leaves nothing running, finds its data again. */
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { identifyProcess, isAlive, type ProcessIdentity } from '@muster/embedded';
import { spawnService, waitFor } from '@muster/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const MAIN = fileURLToPath(new URL('../../services/cli/src/main.ts', import.meta.url));
const UP = /Muster is up at (\S+)/;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'muster-embedded-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function muster(args: string[], env: Record<string, string> = {}) {
  const { MUSTER_DATA_DIR = join(folder, 'data'), ...rest } = env;
  const clean = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(MUSTER|DATABASE|REDIS|S3)_/.test(name)),
  );
  return spawnService(MAIN, { args, env: { ...clean, MUSTER_PORT: '0', ...rest, MUSTER_DATA_DIR } as never });
}

/** A process and everything below it. */
function processesOf(pid: number): ProcessIdentity[] {
  const children = new Map<number, number[]>();
  for (const line of execFileSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')) {
    const [child, parent] = line.trim().split(/\s+/).map(Number) as [number, number];
    children.set(parent, [...(children.get(parent) ?? []), child]);
  }
  const below = (one: number): number[] => (children.get(one) ?? []).flatMap((child) => [child, ...below(child)]);
  return [pid, ...below(pid)].map(identifyProcess).filter((identity) => identity !== undefined);
}

const allGone = (identities: readonly ProcessIdentity[]) =>
  waitFor(
    () => identities.filter(isAlive).length,
    (alive) => alive === 0,
    { what: 'the end of every process of the stack' },
  );

describe('npm start', () => {
  let runId: string;

  test('comes up, prints the demo sweep and its address, and Ctrl-C leaves nothing running', async () => {
    const stack = muster(['serve', '--demo']);
    await stack.ready(UP);
    const printed = stack.stdout.join('\n');
    expect(printed).toMatch(/60 row\(s\) assessed/);
    expect(printed).toMatch(/Not checked/);
    const runs = muster(['runs', '--json']);
    expect((await runs.exited).code).toBe(0);
    runId = JSON.parse(runs.stdout[0] as string).run_id;
    const identities = processesOf(stack.pid);
    expect(identities.length).toBeGreaterThan(5);
    stack.kill('SIGINT');
    expect((await stack.exited).code).toBe(130);
    await allGone(identities);
  });

  test('kill -9 of it ends the services and the database too, and the next start finds the data', async () => {
    const killed = muster(['serve']);
    await killed.ready(UP);
    const identities = processesOf(killed.pid);
    killed.kill('SIGKILL');
    await killed.exited;
    await allGone(identities);
    const next = muster(['serve']);
    await next.ready(UP);
    const get = muster(['get', runId, '--json']);
    expect((await get.exited).code).toBe(0);
    const { run, envelope } = JSON.parse(get.stdout.join('\n'));
    expect(run).toMatchObject({ run_id: runId, run_status: 'completed' });
    expect(envelope.result.rows_total).toBe(60);
    const second = muster(['serve']);
    expect((await second.exited).code).toBe(1);
    expect(second.stderr).toHaveLength(1);
    expect(second.stderr[0]).toContain(String(next.pid));
    next.kill('SIGTERM');
    expect((await next.exited).code).toBe(143);
  });
});

test('a worker that is killed is replaced, and the demo sweep still ends right', async () => {
  const data = join(folder, 'killed-worker');
  const demo = muster(['demo', '--json'], { MUSTER_DATA_DIR: data });
  const logOf = async (name: string) => await readFile(join(data, 'logs', name), 'utf8').catch(() => '');
  const ready = await waitFor(
    () => logOf('worker-1.log'),
    (log) => log.includes('worker ready'),
    { what: 'the first worker' },
  );
  const worker = /"worker":"[^"]*-(\d+)-[0-9a-f]+"/.exec(ready)?.[1];
  process.kill(Number(worker), 'SIGKILL');
  expect((await demo.exited).code).toBe(0);
  const { run, envelope } = JSON.parse(demo.stdout.join('\n'));
  expect(run.run_status).toBe('completed');
  const { total, ok, problem, declined, not_checked, cannot_cover } = envelope.result.subjects;
  expect(ok + problem + declined + not_checked + cannot_cover).toBe(total);
  expect(total).toBe(60);
  expect(not_checked).toBe(0);
});

test('a port in use is one line that names it, and nothing is left running', async () => {
  const holder = createServer();
  const port = await new Promise<number>((resolve) => {
    holder.listen(0, '127.0.0.1', () => resolve((holder.address() as { port: number }).port));
  });
  try {
    const stack = muster(['serve'], { MUSTER_PORT: String(port), MUSTER_DATA_DIR: join(folder, 'port') });
    const { code } = await stack.exited;
    expect(code).toBe(1);
    expect(stack.stderr).toHaveLength(1);
    expect(stack.stderr[0]).toContain(String(port));
  } finally {
    holder.close();
  }
});
