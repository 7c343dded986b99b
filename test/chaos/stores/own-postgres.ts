/** An embedded PostgreSQL that is started for the faults alone: it can be killed, started again and stopped where it is. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type EmbeddedPostgres, freePort, startEmbeddedPostgres } from '@muster/embedded';
import type { BreakableStore } from './breakable-store.ts';

export interface OwnPostgres extends BreakableStore {
  readonly url: string;
  stop(): Promise<void>;
}

/** An immediate stop is a crash to PostgreSQL, and only the machine's own crash would need these. */
const SETTINGS = { fsync: 'off', max_connections: '300' };

export async function startOwnPostgres(directory: string): Promise<OwnPostgres> {
  const options = { directory, port: await freePort(), settings: SETTINGS };
  let server: EmbeddedPostgres | undefined = await startEmbeddedPostgres(options);
  let stopped: number[] = [];
  const resume = () => {
    for (const pid of stopped) process.kill(pid, 'SIGCONT');
    stopped = [];
  };
  return {
    url: server.url,
    async kill() {
      if (server === undefined) return;
      // An immediate stop: no connection is told, nothing is written, the next start recovers.
      process.kill(postmasterOf(directory), 'SIGQUIT');
      await server.exited;
      server = undefined;
    },
    async start() {
      server ??= await startEmbeddedPostgres(options);
    },
    pause() {
      const postmaster = postmasterOf(directory);
      // The postmaster first, so that it makes no more of them.
      process.kill(postmaster, 'SIGSTOP');
      stopped = [postmaster];
      for (const child of childrenOf(postmaster)) {
        process.kill(child, 'SIGSTOP');
        stopped.unshift(child);
      }
    },
    resume,
    async stop() {
      resume();
      await server?.stop();
    },
  };
}

function postmasterOf(directory: string): number {
  return Number(readFileSync(join(directory, 'data', 'postmaster.pid'), 'utf8').split('\n')[0]);
}

function childrenOf(pid: number): number[] {
  return execFileSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number) as [number, number])
    .filter(([, parent]) => parent === pid)
    .map(([child]) => child);
}
