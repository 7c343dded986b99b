/**
 * The API process: opens what it stands on, listens, and closes in the opposite order. A start that fails is one line and
 * an exit code: 2 for the configuration, 1 for everything else.
 */
import { ArtifactError } from '@muster/artifacts';
import { CatalogError, RunbookDefinitionError } from '@muster/envelope';
import {
  type Config,
  ConfigError,
  checkHookSecrets,
  createLogger,
  credentialResolver,
  endWithParent,
  type LoadedCatalog,
  type Logger,
  loadCatalog,
  openArtifactStore,
  readConfig,
  requireSetting,
  SecretBox,
} from '@muster/host';
import { migrate, openDatabase, ResultsError } from '@muster/results';
import { BootstrapKeyError, bootstrapKey } from './bootstrap-key.ts';
import { buildApi } from './build-api.ts';
import { applySchedulesFile } from './use-cases/apply-schedules-file.ts';

/** A flood of senders connects at once; who finds the queue full tries again after seconds. The system may have less. */
const BACKLOG = 4096;

/** A running API. */
export interface RunningApi {
  /** `http://host:port` */
  readonly address: string;
  /** Stops listening, lets requests end within `graceMs`, then lets go of everything. */
  close(graceMs: number): Promise<void>;
}

/** Starts the API. What was opened is closed again when the start fails. */
export async function startApi(config: Config, logger: Logger): Promise<RunningApi> {
  const undo: (() => Promise<void>)[] = [];
  try {
    const catalog = await loadCatalog(config);
    const inbox = await openInbox(config, catalog);
    const db = openDatabase({
      url: requireSetting(config, 'databaseUrl'),
      applicationName: 'muster-api',
      onError: (error) => logger.warn({ error: messageOf(error) }, 'an idle connection was lost'),
    });
    undo.unshift(() => db.close());
    await migrate(db);
    const artifacts = openArtifactStore(config);
    undo.unshift(() => artifacts.close());
    await artifacts.checkAvailable();
    if (config.bootstrapKeyFile !== undefined) {
      const outcome = await bootstrapKey(db, config.bootstrapKeyFile);
      logger.info({ file: config.bootstrapKeyFile, outcome }, 'bootstrap key');
    }
    const { uploadMaxBytes, maxWaiters, selfApproval, notifyPrivate } = config;
    const settings = { uploadMaxBytes, maxWaiters, selfApproval, notifyPrivate };
    const { api } = buildApi({ db, artifacts, catalog, logger, ...settings, ...inbox });
    undo.unshift(() => api.close());
    if (config.schedulesFile !== undefined) {
      const applied = await applySchedulesFile({ db, catalog }, config.schedulesFile);
      logger.info({ file: config.schedulesFile, ...applied }, 'file of schedules');
    }
    const address = await api.listen({ host: config.host, port: config.port, backlog: BACKLOG });
    return {
      address,
      async close(graceMs) {
        const force = setTimeout(() => api.server.closeAllConnections(), graceMs);
        await undoAll(undo).finally(() => clearTimeout(force));
      },
    };
  } catch (error) {
    await undoAll(undo);
    throw error;
  }
}

/** What deliveries of hooks are taken with. @throws ConfigError when a hook could take none */
async function openInbox(config: Config, { hooks = new Map() }: LoadedCatalog) {
  const resolveCredential = credentialResolver({ config, env: process.env });
  await checkHookSecrets(hooks.values(), resolveCredential);
  const key = hooks.size > 0 ? requireSetting(config, 'secretKey') : config.secretKey;
  return { resolveCredential, ...(key !== undefined && { box: new SecretBox(key) }) };
}

/** Runs the process until it is told to end. */
export async function runApi(env: NodeJS.ProcessEnv): Promise<void> {
  const parentWatch = endWithParent();
  let logger = createLogger({ logLevel: 'info', logFormat: 'auto' }, 'api');
  try {
    const config = readConfig(env);
    logger = createLogger(config, 'api');
    const running = await startApi(config, logger);
    endOnSignals(running, config, logger);
    parentWatch.end();
    logger.info({ address: running.address }, 'listening');
    process.send?.({ type: 'ready', address: running.address });
  } catch (error) {
    parentWatch.end();
    logger.fatal({ code: codeOf(error) }, `cannot start: ${messageOf(error)}`);
    process.exitCode = isMisconfigured(error) ? 2 : 1;
    if (process.connected) process.disconnect();
  }
}

function endOnSignals(running: RunningApi, config: Config, logger: Logger): void {
  let ending = false;
  const end = (why: string) => {
    if (ending) return;
    ending = true;
    logger.info({ why }, 'ending');
    const deadline = setTimeout(() => process.exit(1), config.shutdownMs);
    // A fifth of the time is left for letting go of the stores.
    running.close(config.shutdownMs * 0.8).then(
      () => {
        clearTimeout(deadline);
        logger.info('ended');
        process.exit(0);
      },
      (error: unknown) => {
        logger.error({ code: codeOf(error) }, 'ended with an error');
        process.exit(1);
      },
    );
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => end(signal));
  if (process.send !== undefined) process.on('disconnect', () => end('parent is gone'));
}

async function undoAll(undo: readonly (() => Promise<void>)[]): Promise<void> {
  for (const step of undo) await step();
}

function isMisconfigured(error: unknown): boolean {
  return error instanceof ConfigError || error instanceof CatalogError || error instanceof RunbookDefinitionError;
}

function isOurs(error: unknown): error is Error {
  return (
    isMisconfigured(error) ||
    error instanceof ResultsError ||
    error instanceof ArtifactError ||
    error instanceof BootstrapKeyError
  );
}

function messageOf(error: unknown): string {
  if (isOurs(error)) return error.message;
  const { code, port, address } = (error ?? {}) as { code?: unknown; port?: unknown; address?: unknown };
  if (code === 'EADDRINUSE') return `the port ${port} of ${address} is in use; MUSTER_PORT chooses another`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return 'MUSTER_HOST is no address of this machine';
  if (code === 'EACCES') return `the port ${port} may not be used by this user; MUSTER_PORT chooses another`;
  return `unexpected failure (${codeOf(error)})`;
}

function codeOf(error: unknown): string {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  return typeof code === 'string' ? code : String(name ?? 'unknown');
}
