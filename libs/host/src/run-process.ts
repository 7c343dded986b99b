/**
 * The frame of a service process: one clear line when it cannot start, an orderly end when it is told to stop.
 *
 * Exit codes: 0 stopped in order, 1 could not start or was surprised, 2 configured wrongly.
 */
import { CatalogError, RunbookDefinitionError } from '@muster/envelope';
import { ConfigError } from './config.ts';
import type { Logger } from './logger.ts';

/** A service that is up. */
export interface RunningService {
  readonly log: Logger;
  readonly shutdownMs: number;
  /** Told to the parent process that waits for it, when there is one. */
  readonly ready?: Readonly<Record<string, unknown>>;
  stop(graceMs: number): Promise<void>;
}

/** What is kept of the grace time for closing stores, after the work has been handed back. */
const CLOSING_MS = 1500;

/**
 * Starts a service and keeps it until SIGTERM, SIGINT, or the end of the parent that it has an IPC channel to (a parent
 * that was killed cannot say goodbye). A second signal ends it at once.
 */
export async function runProcess(name: string, start: () => Promise<RunningService>): Promise<void> {
  let service: RunningService;
  const parentWatch = endWithParent();
  try {
    service = await start();
  } catch (error) {
    process.stderr.write(`${JSON.stringify({ level: 'fatal', service: name, ...startFailure(error) })}\n`);
    process.exit(isMisconfigured(error) ? 2 : 1);
  }
  let stopping = false;
  const stop = async (why: string) => {
    if (stopping) process.exit(1);
    stopping = true;
    service.log.info({ why }, 'stopping');
    const hard = setTimeout(() => process.exit(1), service.shutdownMs);
    try {
      await service.stop(Math.max(0, service.shutdownMs - CLOSING_MS));
      process.exitCode = 0;
    } catch (error) {
      service.log.error({ error: (error as Error).name }, 'stopping failed');
      process.exitCode = 1;
    }
    clearTimeout(hard);
    process.exit();
  };
  process.on('SIGTERM', () => void stop('SIGTERM'));
  process.on('SIGINT', () => void stop('SIGINT'));
  process.on('disconnect', () => void stop('the parent process is gone'));
  parentWatch.end();
  process.on('uncaughtException', (error) => {
    const { name: kind, stack } = error;
    service.log.fatal({ error: kind, at: stack?.split('\n')[1]?.trim() }, 'uncaught');
    process.exit(1);
  });
  process.send?.({ type: 'ready', ...service.ready });
}

/**
 * Ends this process at once when the parent that it has an IPC channel to is gone. It is for the time of the start: the
 * channel closes only once, and who begins to listen after that would stay for ever.
 */
export function endWithParent(): { end(): void } {
  const leave = () => process.exit(1);
  if (process.connected === false) leave();
  process.on('disconnect', leave);
  return { end: () => void process.off('disconnect', leave) };
}

/** Settings, and the runbooks that they name, are whoever configured this process' to put right. */
function isMisconfigured(error: unknown): boolean {
  return error instanceof ConfigError || error instanceof CatalogError || error instanceof RunbookDefinitionError;
}

/** What may be said of a start that failed: the messages of our own errors, the code of others. */
function startFailure(error: unknown): { code: string; msg: string } {
  const { code, message, name } = error as { code?: string; message?: string; name?: string };
  return { code: code ?? name ?? 'error', msg: (message ?? String(error)).split('\n')[0] as string };
}
