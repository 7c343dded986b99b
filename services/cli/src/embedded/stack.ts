/**
 * Everything on one machine: the embedded PostgreSQL (unless another is configured), the API and the workers, each a
 * process of its own, supervised.
 *
 * Invariants: the order of the start is database, API, workers; the order of the stop is the reverse; a worker that dies
 * is replaced, because the runs that it worked on wait for one; a service that keeps dying ends the whole with its words.
 */
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { acquireInstanceLock, type EmbeddedPostgres, startEmbeddedPostgres } from '@muster/embedded';
import type { Config } from '@muster/host';
import { CommandError } from '../exit-codes.ts';
import { embeddedSecretKey } from './embedded-secrets.ts';
import { removeServerFile, writeServerFile } from './server-file.ts';
import { type ServiceProcess, startService } from './service-process.ts';

export interface StackOptions {
  readonly config: Config;
  /** The environment that the services inherit. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly verbose: boolean;
  readonly workers: number;
  /** Told what is being done, in a few words. */
  readonly onStep: (words: string) => void;
  /** Told of trouble that the stack deals with by itself. */
  readonly onTrouble: (words: string) => void;
}

export interface Stack {
  readonly address: string;
  readonly keyFile: string;
  /** Rejects when the stack cannot go on. */
  readonly failed: Promise<never>;
  /** Stops everything in order. Idempotent. */
  stop(): Promise<void>;
}

const API_MAIN = fileURLToPath(import.meta.resolve('@muster/api/main'));
const WORKER_MAIN = fileURLToPath(import.meta.resolve('@muster/worker/main'));
const CLOSING_MS = 3000;
const MAX_RESTARTS = 5;
const RESTART_WINDOW_MS = 60_000;

/** Starts the stack. @throws CommandError or EmbeddedError with one line for a person; nothing is left running then */
export async function startStack(options: StackOptions): Promise<Stack> {
  const { config } = options;
  const directory = resolve(config.dataDirectory);
  await mkdir(join(directory, 'logs'), { recursive: true, mode: 0o755 });
  const lock = await acquireInstanceLock(directory);
  const undo: (() => Promise<void>)[] = [() => lock.release()];
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= (async () => {
      for (const step of undo.reverse()) await step().catch((error: Error) => options.onTrouble(error.message));
    })();
    return stopping;
  };
  try {
    let databaseUrl = config.databaseUrl;
    let fail: (error: Error) => void = () => {};
    const failed = new Promise<never>((_, reject) => {
      fail = (error) => void (stopping === undefined && reject(error));
    });
    failed.catch(() => {});
    if (databaseUrl === undefined) {
      options.onStep('starting the embedded PostgreSQL');
      const postgres: EmbeddedPostgres = await startEmbeddedPostgres({ directory: join(directory, 'postgres') });
      undo.push(() => postgres.stop());
      void postgres.exited.then(() => fail(new CommandError('the embedded PostgreSQL ended by itself')));
      databaseUrl = postgres.url;
    }
    const keyFile = config.bootstrapKeyFile ?? join(directory, 'admin.key');
    const env = {
      ...options.env,
      DATABASE_URL: databaseUrl,
      MUSTER_DATA_DIR: directory,
      MUSTER_BOOTSTRAP_KEY_FILE: keyFile,
      MUSTER_SECRET_KEY: config.secretKey?.toString('base64') ?? (await embeddedSecretKey(directory)),
      MUSTER_LOG_FORMAT: config.logFormat === 'auto' ? (options.verbose ? 'pretty' : 'json') : config.logFormat,
    };
    const start = (name: string, file: string, log: string) =>
      startService({ name, file, env, verbose: options.verbose, logFile: join(directory, 'logs', log) });
    const graceMs = config.shutdownMs + CLOSING_MS;
    options.onStep('starting the API');
    const api = await start('API', API_MAIN, 'api.log');
    undo.push(() => api.stop(graceMs));
    void api.exited.then(() => fail(new CommandError('the API ended by itself; its log is in logs/api.log')));
    options.onStep('starting the workers');
    const keepers = Array.from({ length: options.workers }, (_, index) =>
      keepRunning(() => start('worker', WORKER_MAIN, `worker-${index + 1}.log`), graceMs, options.onTrouble, fail),
    );
    undo.push(async () => void (await Promise.all(keepers.map((keeper) => keeper.stop()))));
    await Promise.all(keepers.map((keeper) => keeper.started));
    const address = String(api.ready.address);
    await lock.announce(address);
    await writeServerFile(directory, address);
    undo.push(() => removeServerFile(directory));
    return { address, keyFile, failed, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Starts a service and starts it again when it dies, but not for ever. */
function keepRunning(
  start: () => Promise<ServiceProcess>,
  graceMs: number,
  onTrouble: (words: string) => void,
  fail: (error: Error) => void,
) {
  let stopped = false;
  let current: ServiceProcess | undefined;
  const deaths: number[] = [];
  const begin = async (): Promise<void> => {
    const service = await start();
    current = service;
    if (stopped) return await service.stop(graceMs);
    void service.exited.then(({ code, signal }) => {
      if (stopped) return;
      const how = signal ?? `exit ${code}`;
      const now = performance.now();
      deaths.push(now);
      while ((deaths[0] as number) < now - RESTART_WINDOW_MS) deaths.shift();
      if (deaths.length > MAX_RESTARTS) {
        return fail(new CommandError(`the ${service.name} ended ${deaths.length} times within a minute (${how})`));
      }
      onTrouble(`the ${service.name} ended (${how}); starting another`);
      begin().catch(fail);
    });
  };
  const started = begin();
  return {
    started,
    async stop() {
      stopped = true;
      await started.catch(() => {});
      await current?.stop(graceMs);
    },
  };
}
