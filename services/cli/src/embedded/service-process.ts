/** One service as a child process: started, waited for, told to stop. */
import { type ChildProcess, spawn } from 'node:child_process';
import { type FileHandle, open, rename } from 'node:fs/promises';
import { PROCESS_MEMORY } from '@muster/host';
import { CommandError, UsageError } from '../exit-codes.ts';

export interface ServiceOptions {
  readonly name: string;
  /** The module to run. */
  readonly file: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where its logs go; without one they go to our standard error. */
  readonly logFile?: string;
  /** Gives the start up. */
  readonly signal: AbortSignal;
}

export interface ServiceProcess {
  readonly name: string;
  /** What it said when it was ready. */
  readonly ready: Readonly<Record<string, unknown>>;
  readonly exited: Promise<ServiceExit>;
  /** Asks it to stop and waits; after `graceMs` it is ended. Idempotent. */
  stop(graceMs: number): Promise<void>;
}

export interface ServiceExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** How services end that were configured wrongly. */
const MISCONFIGURED = 2;
const MAX_LOG_BYTES = 16 * 1024 * 1024;
const LAST_WORDS_BYTES = 64 * 1024;

/**
 * Starts a service and waits until it says that it is ready.
 *
 * It has a process group of its own, so that Ctrl-C in a terminal reaches only us and the stop stays in order; when we
 * die, its IPC channel closes and it stops by itself. Its log is a file of its own, not a pipe to us: it outlives us too.
 *
 * @throws CommandError, or UsageError for a wrong setting, with the service's own last words when it ends before it is
 * ready; the signal's reason when that comes first. The service is gone then
 */
export async function startService(options: ServiceOptions): Promise<ServiceProcess> {
  const { name, signal } = options;
  signal.throwIfAborted();
  const log = options.logFile === undefined ? undefined : await openLog(options.logFile);
  const child = spawn(process.execPath, [options.file], {
    env: { ...PROCESS_MEMORY, ...options.env },
    stdio: ['ignore', 'ignore', log?.handle.fd ?? 'inherit', 'ipc'],
    detached: true,
  });
  await log?.handle.close();
  const exited = new Promise<ServiceExit>((resolve) => {
    child.on('exit', (code, killedBy) => resolve({ code, signal: killedBy }));
    child.on('error', () => resolve({ code: 1, signal: null }));
  });
  const outcome = await Promise.race([readyOf(child), exited, aborted(signal)]);
  if (outcome === 'aborted') {
    await stopChild(child, exited, 0);
    throw signal.reason;
  }
  if (!('ready' in outcome)) {
    const words = log === undefined ? 'its log says why' : await lastWords(log);
    const text = `the ${name} did not start: ${words}`;
    throw outcome.code === MISCONFIGURED ? new UsageError(text) : new CommandError(text);
  }
  let stopping: Promise<void> | undefined;
  return {
    name,
    ready: outcome.ready,
    exited,
    stop(graceMs) {
      stopping ??= stopChild(child, exited, graceMs);
      return stopping;
    },
  };
}

function readyOf(child: ChildProcess): Promise<{ ready: Record<string, unknown> }> {
  return new Promise((resolve) => {
    child.on('message', (message: { type?: string }) => {
      if (message?.type === 'ready') resolve({ ready: message as Record<string, unknown> });
    });
  });
}

function aborted(signal: AbortSignal): Promise<'aborted'> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve('aborted');
    signal.addEventListener('abort', () => resolve('aborted'), { once: true });
  });
}

async function stopChild(child: ChildProcess, exited: Promise<unknown>, graceMs: number): Promise<void> {
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
  await exited;
  clearTimeout(timer);
}

interface ServiceLog {
  readonly path: string;
  readonly handle: FileHandle;
  /** Where this start's words begin. */
  readonly from: number;
}

/** Logs are added to; what has grown large makes room once, under the name `.old`. */
async function openLog(path: string): Promise<ServiceLog> {
  const handle = await open(path, 'a', 0o600);
  const { size } = await handle.stat();
  if (size <= MAX_LOG_BYTES) return { path, handle, from: size };
  await handle.close();
  await rename(path, `${path}.old`);
  return { path, handle: await open(path, 'a', 0o600), from: 0 };
}

/** The last thing that the service said in this start, as a person reads it. */
async function lastWords({ path, from }: ServiceLog): Promise<string> {
  const handle = await open(path, 'r');
  try {
    const { size } = await handle.stat();
    const begin = Math.max(from, size - LAST_WORDS_BYTES);
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(size - begin), position: begin });
    const said = buffer.toString('utf8', 0, bytesRead).split('\n').map(messageOf).filter(Boolean);
    return said.at(-1) ?? `it ended without a word; its log is ${path}`;
  } finally {
    await handle.close();
  }
}

function messageOf(line: string): string {
  try {
    const { msg } = JSON.parse(line) as { msg?: unknown };
    return typeof msg === 'string' ? msg.replace(/^cannot start: /, '') : '';
  } catch {
    return line.trim();
  }
}
