/** What the tests of this room share: an owner in a process of its own, and a look at the processes of a directory. */
import type { ChildProcess } from 'node:child_process';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readlinkSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@muster/testkit';
import pg from 'pg';
import { afterAll } from 'vitest';

const folders: string[] = [];
const owners = new Set<ChildProcess>();

afterAll(async () => {
  for (const child of owners) {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
  for (const folder of folders) {
    await serverEnded(folder);
    rmSync(folder, { recursive: true, force: true });
  }
});

/** A fresh folder that only its owner may look into, removed at the end of the file. */
export function freshFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'muster-embedded-'));
  folders.push(folder);
  return folder;
}

/** A running owner. */
export interface Owner {
  readonly child: ChildProcess;
  readonly url: string;
}

/** Starts an owner in a process group of its own and waits until its PostgreSQL answers. */
export async function startOwner(directory: string, as: { uid?: number; gid?: number } = {}): Promise<Owner> {
  const program = join(import.meta.dirname, 'owner-process.ts');
  const stdio = ['ignore', 'ignore', 'pipe', 'ipc'] as const;
  const child = spawn(process.execPath, [program, directory], { ...as, stdio: [...stdio], detached: true });
  owners.add(child);
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  const url = await new Promise<string>((fulfil, reject) => {
    child.once('message', (message) => fulfil((message as { url: string }).url));
    child.once('exit', (code, signal) => reject(new Error(`the owner ended (${code ?? signal}): ${said}`)));
  });
  return { child, url };
}

/** Kills an owner the hard way and waits until it is gone. */
export async function killOwner({ child }: Owner): Promise<void> {
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

/** Runs one statement on a connection of its own. */
export async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** The pid in the data directory's pid file, or undefined. */
export function postmasterPid(directory: string): number | undefined {
  try {
    return Number(readFileSync(join(directory, 'data', 'postmaster.pid'), 'utf8').split('\n')[0]);
  } catch {
    return undefined;
  }
}

/** All living processes of a data directory: the server with its children, and its watchdog. */
export function processesOf(directory: string): number[] {
  const data = join(realpathSync(directory), 'data');
  return allProcesses()
    .filter((one) => (process.platform === 'linux' ? workingFolder(one.pid) === data : one.command.includes(data)))
    .map(({ pid }) => pid);
}

function workingFolder(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined;
  }
}

/** The processes that a process started. */
export function childrenOf(parent: number, command: string): number[] {
  return allProcesses()
    .filter((one) => one.parent === parent && one.command.includes(command))
    .map(({ pid }) => pid);
}

/** Waits until nothing works in the directory any more. */
export async function serverEnded(directory: string): Promise<void> {
  await waitFor(
    () => processesOf(directory),
    (pids) => pids.length === 0,
    { what: 'the end of every process of the data directory' },
  );
}

function allProcesses(): { pid: number; parent: number; command: string }[] {
  const options = ['-A', '-ww', '-o', 'pid=,ppid=,stat=,command='];
  const lines = execFileSync('ps', options, { encoding: 'utf8' }).trim().split('\n');
  return lines
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , state = '']) => !state.startsWith('Z'))
    .map(([pid, parent, , ...command]) => ({ pid: Number(pid), parent: Number(parent), command: command.join(' ') }));
}
