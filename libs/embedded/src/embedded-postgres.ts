/**
 * A real PostgreSQL for one person on one machine, from the binaries that npm brought.
 *
 * - One owner a directory; a second one is refused. An owner that died leaves nothing that the next start cannot repair.
 * - It listens on 127.0.0.1 alone and asks for a password that only the owner can read.
 * - It runs in a session of its own: Ctrl-C in a terminal reaches the owner, who stops it last, after its clients.
 * - When the owner dies without a word, a watchdog shuts it down.
 */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { EmbeddedError } from './embedded-error.ts';
import { freePort } from './free-port.ts';
import { acquireInstanceLock } from './instance-lock.ts';
import { stopOrphanPostmaster } from './orphan-postmaster.ts';
import type { PostgresAccount } from './postgres-account.ts';
import { postgresAccount } from './postgres-account.ts';
import { postgresBinaries } from './postgres-binaries.ts';
import { clusterPassword, dataPathFor, ensureCluster, POSTGRES_USER } from './postgres-data.ts';
import { startWatchdog } from './watchdog.ts';

const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  shared_buffers: '128MB',
  max_wal_size: '512MB',
  password_encryption: 'scram-sha-256',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
};
/** Where root keeps a copy of the binaries when the account cannot reach them; only root writes there. */
const ROOT_COPIES = '/var/lib/muster';
const READY = 'database system is ready to accept connections';
const PORT_TAKEN = 'could not bind IPv4 address';
const PORT_ATTEMPTS = 5;
/** A fast shutdown gets this long, an immediate one after it half as long. */
const STOP_TIMEOUT_MS = 10_000;

/** Takes log lines; a pino logger is one. */
export interface EmbeddedLogger {
  debug(message: string): void;
  warn(message: string): void;
}

/** Options of {@link startEmbeddedPostgres}. */
export interface EmbeddedPostgresOptions {
  /** Where the data live; made when it is missing. */
  readonly directory: string;
  readonly logger?: EmbeddedLogger;
  /** A fixed port on 127.0.0.1. Without it each start takes a free one. */
  readonly port?: number;
  /** Server settings over ours. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** A running embedded PostgreSQL. */
export interface EmbeddedPostgres {
  /** Connection URL with user and password: a secret, never to be logged. */
  readonly url: string;
  readonly port: number;
  /** Resolves when the server has ended, by `stop` or by itself. */
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** Fast shutdown: open transactions are rolled back, data are written. May be called twice. */
  stop(): Promise<void>;
}

/**
 * Starts PostgreSQL on a directory, making its data first when there are none.
 *
 * @throws EmbeddedError `embedded_directory_in_use` when a living process owns the directory, `embedded_binaries_missing`
 * on a platform without binaries, `embedded_port_in_use` when the port that was asked for is taken, and others of
 * {@link EmbeddedErrorCode}.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const directory = resolve(options.directory);
  const data = join(directory, 'data');
  await mkdir(directory, { recursive: true });
  const lock = await acquireInstanceLock(directory);
  try {
    const account = await postgresAccount(data);
    const binaries = await postgresBinaries({ account, copies: account === undefined ? directory : ROOT_COPIES });
    const password = await clusterPassword(directory);
    const orphan = await stopOrphanPostmaster(data);
    if (orphan !== undefined) options.logger?.warn(`stopped a PostgreSQL left by an earlier start (process ${orphan})`);
    const sync = options.settings?.fsync !== 'off';
    await ensureCluster({ directory, initdb: binaries.initdb, account, password, sync });
    const server = await startOnSomePort(options, (port) => ({ program: binaries.postgres, account, data, port }));
    await lock.announce(`127.0.0.1:${server.port}`);
    const exited = server.exited.finally(() => lock.release());
    return {
      url: `postgres://${POSTGRES_USER}:${password}@127.0.0.1:${server.port}/postgres`,
      port: server.port,
      exited,
      async stop() {
        await stopServer(server.child);
        await exited;
      },
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

interface ServerPlan {
  readonly program: string;
  readonly account: PostgresAccount | undefined;
  readonly data: string;
  readonly port: number;
}

interface RunningServer {
  readonly child: ChildProcess;
  readonly port: number;
  readonly exited: EmbeddedPostgres['exited'];
}

/** A free port may be taken by somebody else before PostgreSQL has it; then another one is tried. */
async function startOnSomePort(
  options: EmbeddedPostgresOptions,
  plan: (port: number) => ServerPlan,
): Promise<RunningServer> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startServer(plan(options.port ?? (await freePort())), options);
    } catch (error) {
      const taken = error instanceof EmbeddedError && error.code === 'embedded_port_in_use';
      if (!taken || options.port !== undefined || attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

async function startServer(plan: ServerPlan, options: EmbeddedPostgresOptions): Promise<RunningServer> {
  const { program, account, data, port } = plan;
  const settings = Object.entries({ ...SETTINGS, ...options.settings }).flatMap(([k, v]) => ['-c', `${k}=${v}`]);
  const child = spawn(program, ['-D', dataPathFor(account, data), '-p', String(port), ...settings], {
    ...account,
    cwd: data,
    env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  await once(child, 'spawn');
  const watchdog = startWatchdog({ ...account, pid: child.pid!, signal: 'INT', cwd: data, pidFile: 'postmaster.pid' });
  const exited = once(child, 'close').then(([code, signal]) => {
    watchdog.end();
    return { code: code as number | null, signal: signal as NodeJS.Signals | null };
  });
  await untilReady(child, port, options.logger);
  return { child, port, exited };
}

/** Waits for the server's own word that it accepts connections; passes every line on. */
function untilReady(child: ChildProcess, port: number, logger: EmbeddedLogger | undefined): Promise<void> {
  const lastLines: string[] = [];
  return new Promise((fulfil, reject) => {
    createInterface({ input: child.stderr! }).on('line', (line) => {
      logger?.debug(line);
      if (lastLines.push(line) > 10) lastLines.shift();
      if (line.includes(READY)) fulfil();
    });
    child.once('close', () => reject(startFailure(lastLines, port)));
  });
}

function startFailure(lines: readonly string[], port: number): EmbeddedError {
  if (lines.some((line) => line.includes(PORT_TAKEN))) {
    return new EmbeddedError('embedded_port_in_use', `port ${port} on 127.0.0.1 is in use by another program`);
  }
  const said = lines.filter((line) => /FATAL|PANIC|ERROR|HINT/.test(line));
  const detail = (said.length > 0 ? said : lines).join('\n') || 'it said nothing';
  return new EmbeddedError('embedded_start_failed', `the embedded PostgreSQL did not start: ${detail}`);
}

async function stopServer(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGINT');
  const immediate = setTimeout(() => child.kill('SIGQUIT'), STOP_TIMEOUT_MS);
  const final = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS * 1.5);
  await ended;
  clearTimeout(immediate);
  clearTimeout(final);
}
