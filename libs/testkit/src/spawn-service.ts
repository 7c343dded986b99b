/**
 * Real child processes for tests. Each ends with its test file at the latest, and with the test process when that is
 * killed.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { startWatchdog } from '@muster/embedded';
import { afterAll } from 'vitest';

/** How a process ended. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A running child process. */
export interface SpawnedService {
  readonly pid: number;
  /** All lines so far; they grow while it runs. */
  readonly stdout: readonly string[];
  readonly stderr: readonly string[];
  readonly exited: Promise<ProcessExit>;
  /**
   * Waits for a line (of stdout or stderr) that matches, or for an IPC message that the function accepts, past ones
   * included, and gives it back.
   *
   * @throws Error when the process ends first, with its last lines, or after 30 s.
   */
  ready(signal: RegExp): Promise<string>;
  ready(signal: (message: unknown) => boolean): Promise<unknown>;
  /** Sends an IPC message. */
  send(message: object): void;
  write(text: string): void;
  /** Sends a signal (default SIGTERM) and waits for the end. */
  kill(signal?: NodeJS.Signals): Promise<ProcessExit>;
}

/** Options of {@link spawnService}. */
export interface SpawnServiceOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly args?: readonly string[];
  readonly cwd?: string;
}

const READY_TIMEOUT_MS = 30_000;
const running = new Set<SpawnedService>();

afterAll(async () => {
  await Promise.all([...running].map((service) => service.kill('SIGKILL')));
});

/** Runs a TypeScript or JavaScript file on the Node that runs the tests. It does not see what only the test runner is told. */
export function spawnService(file: string, options: SpawnServiceOptions = {}): SpawnedService {
  const child = spawn(process.execPath, [file, ...(options.args ?? [])], {
    cwd: options.cwd,
    env: { ...ownEnvironment(), ...options.env },
    stdio: ['pipe', 'pipe', 'pipe', 'ipc'],
    // In a group of its own: Ctrl-C at the tests must not be what ends it, or tests of signals would prove nothing.
    detached: true,
  });
  if (child.pid === undefined) throw new Error(`spawnService: ${file} could not be started`);
  const watchdog = startWatchdog({ pid: child.pid, signal: 'KILL' });
  const stdout: string[] = [];
  const stderr: string[] = [];
  const messages: unknown[] = [];
  const listeners = new Set<() => void>();
  const changed = () => {
    for (const listener of listeners) listener();
  };
  const collect = (lines: string[]) => (line: string) => {
    lines.push(line);
    changed();
  };
  createInterface({ input: child.stdout! }).on('line', collect(stdout));
  createInterface({ input: child.stderr! }).on('line', collect(stderr));
  child.on('message', (message) => {
    messages.push(message);
    changed();
  });
  child.stdin!.on('error', () => undefined);
  let ended: ProcessExit | undefined;
  const exited = once(child, 'close').then(([code, signal]): ProcessExit => {
    watchdog.end();
    running.delete(service);
    ended = { code, signal };
    changed();
    return ended;
  });

  function ready(signal: RegExp): Promise<string>;
  function ready(signal: (message: unknown) => boolean): Promise<unknown>;
  function ready(signal: RegExp | ((message: unknown) => boolean)): Promise<unknown> {
    const find = (): { found: unknown } | undefined => {
      const all = typeof signal === 'function' ? messages : [...stdout, ...stderr];
      const found = all.find((one) => (typeof signal === 'function' ? signal(one) : signal.test(one as string)));
      return found === undefined ? undefined : { found };
    };
    return new Promise((fulfil, reject) => {
      const fail = (why: string) => {
        const said = [...stdout.slice(-10), ...stderr.slice(-10)].join('\n');
        settle(() => reject(new Error(`${file} ${why} before ${signal} was seen; its last lines:\n${said}`)));
      };
      const timer = setTimeout(() => fail(`ran for ${READY_TIMEOUT_MS} ms`), READY_TIMEOUT_MS);
      const settle = (end: () => void) => {
        clearTimeout(timer);
        listeners.delete(check);
        end();
      };
      const check = () => {
        const hit = find();
        if (hit !== undefined) settle(() => fulfil(hit.found));
        else if (ended !== undefined) fail(`ended (code ${ended.code}, signal ${ended.signal})`);
      };
      listeners.add(check);
      check();
    });
  }

  const service: SpawnedService = {
    pid: child.pid,
    stdout,
    stderr,
    exited,
    ready,
    send: (message) => void child.send(message),
    write: (text) => void child.stdin!.write(text),
    kill(signal = 'SIGTERM') {
      child.kill(signal);
      return exited;
    },
  };
  running.add(service);
  return service;
}

/** The test runner's own variables would change how a process behaves that is to behave as it does for people. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const hidden = /^(VITEST|TEST$|NODE_ENV$|NODE_OPTIONS$|NODE_CHANNEL|MODE$|DEV$|PROD$|SSR$|BASE_URL$)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !hidden.test(name)));
}
