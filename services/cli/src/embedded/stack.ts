/**
 * Everything on one machine: the embedded PostgreSQL (unless another is configured), the API and the workers, each a
 * process of its own, supervised.
 *
 * Invariants: the database comes first and goes last, after its clients; a start that is given up leaves nothing running; a
 * worker that dies is replaced, because the runs that it worked on wait for one; a service that keeps dying ends the whole
 * with its words.
 */
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { acquireInstanceLock, EmbeddedError, type InstanceLock, startEmbeddedPostgres } from '@muster/embedded';
import type { Config } from '@muster/host/config';
import { COMPILE_CACHE } from '../compile-cache.ts';
import { CommandError } from '../exit-codes.ts';
import { embeddedSecretKey } from './embedded-secrets.ts';
import { keepRunning } from './keep-running.ts';
import { readServerFile, removeServerFile, writeServerFile } from './server-file.ts';
import { startService } from './service-process.ts';

export interface StackOptions {
  readonly config: Config;
  /** The environment that the services inherit. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Logs go to standard error instead of files. */
  readonly verbose: boolean;
  readonly workers: number;
  /** Gives the start up; whatever has come up by then is taken down. */
  readonly signal: AbortSignal;
  /** Told what is being done, in a few words. */
  readonly onStep: (words: string) => void;
  /** Told of trouble that the stack deals with by itself. */
  readonly onTrouble: (words: string) => void;
}

export interface Stack {
  readonly address: string;
  readonly keyFile: string;
  /** Where the services' logs are. */
  readonly logs: string;
  /** Rejects when the stack cannot go on. */
  readonly failed: Promise<never>;
  /** Stops everything in order. Idempotent. */
  stop(): Promise<void>;
}

const API_MAIN = fileURLToPath(import.meta.resolve('@muster/api/main'));
const WORKER_MAIN = fileURLToPath(import.meta.resolve('@muster/worker/main'));
const CLOSING_MS = 3000;

/**
 * Starts the stack.
 *
 * @throws CommandError, UsageError or EmbeddedError with one line for a person, or the signal's reason; nothing is left
 * running then
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const { config, onStep } = options;
  const directory = resolve(config.dataDirectory);
  const logs = join(directory, 'logs');
  const lock = await takeFolder(directory, logs);
  const undo: (() => Promise<void>)[] = [() => lock.release()];
  const giveUp = new AbortController();
  const signal = AbortSignal.any([options.signal, giveUp.signal]);
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= (async () => {
      giveUp.abort();
      for (const step of undo.reverse()) await step().catch((error: Error) => options.onTrouble(error.message));
    })();
    return stopping;
  };
  let fail: (error: Error) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = (error) => void (stopping === undefined && reject(error));
  });
  failed.catch(() => {});
  try {
    let databaseUrl = config.databaseUrl;
    if (databaseUrl === undefined) {
      onStep('starting the embedded PostgreSQL');
      const postgres = await startEmbeddedPostgres({ directory: join(directory, 'postgres') });
      undo.push(() => postgres.stop());
      void postgres.exited.then(() => fail(new CommandError('the embedded PostgreSQL ended by itself')));
      databaseUrl = postgres.url;
    }
    const keyFile = config.bootstrapKeyFile ?? join(directory, 'admin.key');
    const env = {
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      ...options.env,
      DATABASE_URL: databaseUrl,
      MUSTER_DATA_DIR: directory,
      MUSTER_BOOTSTRAP_KEY_FILE: keyFile,
      MUSTER_SECRET_KEY: config.secretKey?.toString('base64') ?? (await embeddedSecretKey(directory)),
    };
    const start = (name: string, file: string, log: string) =>
      startService({ name, file, env, signal, ...(!options.verbose && { logFile: join(logs, log) }) });
    const graceMs = config.shutdownMs + CLOSING_MS;
    onStep(`starting the API and ${options.workers === 1 ? 'a worker' : `${options.workers} workers`}`);
    // Side by side: each waits for the database and for nothing else.
    const starting = start('API', API_MAIN, 'api.log');
    undo.push(async () => (await starting.catch(() => undefined))?.stop(graceMs));
    const keepers = Array.from({ length: options.workers }, (_, index) =>
      keepRunning({
        start: () => start('worker', WORKER_MAIN, `worker-${index + 1}.log`),
        graceMs,
        onTrouble: options.onTrouble,
        onHopeless: fail,
      }),
    );
    undo.push(async () => void (await Promise.all(keepers.map((keeper) => keeper.stop()))));
    const api = await starting;
    void api.exited.then(() => fail(new CommandError(`the API ended by itself; its log is in ${logs}`)));
    await Promise.all(keepers.map((keeper) => keeper.started));
    const address = String(api.ready.address);
    await lock.announce(address);
    await writeServerFile(directory, address);
    undo.push(() => removeServerFile(directory));
    signal.throwIfAborted();
    return { address, keyFile, logs, failed, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Makes the data folder and takes it for this process. */
async function takeFolder(directory: string, logs: string): Promise<InstanceLock> {
  try {
    await mkdir(logs, { recursive: true, mode: 0o755 });
    return await acquireInstanceLock(directory);
  } catch (error) {
    if (error instanceof EmbeddedError && error.code === 'embedded_directory_in_use') {
      const server = await readServerFile(directory);
      const where = server === undefined ? 'is starting or stopping' : `is up at ${server.address}`;
      const who = server === undefined ? '' : ` (process ${server.owner.pid})`;
      throw new CommandError(
        `a Muster ${where} in ${directory}${who}; stop that one first, or choose another folder with MUSTER_DATA_DIR`,
      );
    }
    const { code, message } = error as NodeJS.ErrnoException;
    throw new CommandError(`the data folder ${directory} (MUSTER_DATA_DIR) cannot be used (${code ?? message})`);
  }
}
