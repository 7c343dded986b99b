/** One service as a child process: started, waited for, told to stop. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { CommandError } from '../exit-codes.ts';

export interface ServiceOptions {
  readonly name: string;
  /** The module to run. */
  readonly file: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where its logs go. */
  readonly logFile: string;
  /** Show its logs on standard error too. */
  readonly verbose: boolean;
}

export interface ServiceProcess {
  readonly name: string;
  /** What it said when it was ready. */
  readonly ready: Readonly<Record<string, unknown>>;
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** Asks it to stop and waits; after `graceMs` it is ended. Idempotent. */
  stop(graceMs: number): Promise<void>;
}

/**
 * Starts a service and waits until it says that it is ready.
 *
 * It has a process group of its own, so that Ctrl-C in a terminal reaches only us and the stop stays in order; when we
 * die, its IPC channel closes and it stops by itself.
 *
 * @throws CommandError with the service's own last words when it ends before it is ready
 */
export async function startService(options: ServiceOptions): Promise<ServiceProcess> {
  const { name, logFile, verbose } = options;
  const child = spawn(process.execPath, [options.file], {
    env: options.env,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    detached: true,
  });
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.on('exit', (code, signal) => resolve({ code, signal }));
    child.on('error', () => resolve({ code: 1, signal: null }));
  });
  const lastWords = keepLogs(child, logFile, verbose);
  const ready = await Promise.race([
    new Promise<Record<string, unknown>>((resolve) => {
      child.on('message', (message: { type?: string }) => {
        if (message?.type === 'ready') resolve(message as Record<string, unknown>);
      });
    }),
    exited.then(() => undefined),
  ]);
  if (ready === undefined) throw new CommandError(`the ${name} did not start: ${await lastWords()}`);
  let stopping: Promise<void> | undefined;
  return {
    name,
    ready,
    exited,
    stop(graceMs) {
      stopping ??= stopChild(child, exited, graceMs);
      return stopping;
    },
  };
}

async function stopChild(child: ChildProcess, exited: Promise<unknown>, graceMs: number): Promise<void> {
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
  await exited;
  clearTimeout(timer);
}

/** Writes the service's log to its file; what comes back gives its last line as a person reads it. */
function keepLogs(child: ChildProcess, logFile: string, verbose: boolean): () => Promise<string> {
  const file = createWriteStream(logFile, { flags: 'a', mode: 0o600 });
  file.on('error', () => {});
  const lines = createInterface({ input: child.stderr as NodeJS.ReadableStream });
  let last = '';
  const closed = new Promise<void>((resolve) => lines.on('close', resolve));
  lines.on('line', (line) => {
    last = line;
    file.write(`${line}\n`);
    if (verbose) process.stderr.write(`${line}\n`);
  });
  lines.on('close', () => file.end());
  return async () => {
    await closed;
    return messageOf(last) || `it ended without a word; its log is ${logFile}`;
  };
}

function messageOf(line: string): string {
  try {
    const { msg } = JSON.parse(line) as { msg?: unknown };
    return typeof msg === 'string' ? msg : '';
  } catch {
    return line;
  }
}
