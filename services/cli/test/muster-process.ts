/** The command line as people and scripts start it: a real process with an environment of its own. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
/** What a terminal is to a program: its streams say so. */
const TERMINAL = 'data:text/javascript,process.stdout.isTTY = process.stderr.isTTY = true';

export interface MusterOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Written to standard input; without it there is none. */
  readonly stdin?: string;
  /** Standard output and error say that they are a terminal. */
  readonly terminal?: boolean;
  /** Called for standard output as it comes. */
  readonly onOutput?: (text: string, closeOutput: () => void) => void;
}

export interface MusterExit {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs one command line to its end. Settings of the surroundings are not passed on. */
export function muster(args: readonly string[], options: MusterOptions = {}): Promise<MusterExit> {
  const foreign = /^(MUSTER|DATABASE|REDIS|S3|npm)_|^(INIT_CWD|NO_COLOR|FORCE_COLOR|TERM|VITEST|NODE_OPTIONS)/i;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)));
  const preload = options.terminal ? ['--import', TERMINAL] : [];
  const child = spawn(process.execPath, [...preload, MAIN, ...args], {
    cwd: options.cwd,
    env: { ...env, TERM: 'xterm', ...options.env },
    stdio: [options.stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    out += text;
    options.onOutput?.(text, () => child.stdout?.destroy());
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  // A program that ends before it has read everything is no failure of this side.
  child.stdin?.on('error', () => {});
  child.stdin?.end(options.stdin);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, out, err }));
  });
}

/** The lines of a text. */
export function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}
