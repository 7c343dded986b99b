/** Starts a service and starts it again when it dies, but not for ever. */
import { CommandError } from '../exit-codes.ts';
import type { ServiceProcess } from './service-process.ts';

export interface KeepRunningOptions {
  readonly start: () => Promise<ServiceProcess>;
  readonly graceMs: number;
  /** Told of each death that another start answers. */
  readonly onTrouble: (words: string) => void;
  /** Told when no further start is tried. */
  readonly onHopeless: (error: Error) => void;
}

export interface Keeper {
  /** Resolves when the service is up for the first time. */
  readonly started: Promise<void>;
  stop(): Promise<void>;
}

const MAX_RESTARTS = 5;
const RESTART_WINDOW_MS = 60_000;

/** Keeps one service running until it is stopped, or dies more than five times within a minute. */
export function keepRunning(options: KeepRunningOptions): Keeper {
  const { graceMs, onTrouble, onHopeless } = options;
  let stopped = false;
  let current: ServiceProcess | undefined;
  let beginning: Promise<void>;
  const deaths: number[] = [];
  const begin = async (): Promise<void> => {
    const service = await options.start();
    current = service;
    void service.exited.then(({ code, signal }) => {
      if (stopped) return;
      const how = signal ?? `exit ${code}`;
      const now = performance.now();
      deaths.push(now);
      while ((deaths[0] as number) < now - RESTART_WINDOW_MS) deaths.shift();
      if (deaths.length > MAX_RESTARTS) {
        return onHopeless(
          new CommandError(`the ${service.name} ended ${deaths.length} times within a minute (${how})`),
        );
      }
      onTrouble(`the ${service.name} ended (${how}); starting another`);
      beginning = begin();
      beginning.catch(onHopeless);
    });
  };
  beginning = begin();
  // Whoever waits for the start hears of its failure; nobody has to.
  beginning.catch(() => {});
  return {
    started: beginning,
    async stop() {
      stopped = true;
      // A start that is under way has to end before there is something to stop.
      await beginning.catch(() => {});
      await current?.stop(graceMs);
    },
  };
}
