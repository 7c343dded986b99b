/** A redis-server that is started for the faults alone, appending as in production: what it acknowledged survives a kill. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { freePort, startWatchdog } from '@muster/embedded';
import { Redis } from 'ioredis';
import type { BreakableStore } from './breakable-store.ts';

export interface OwnRedis extends BreakableStore {
  readonly url: string;
  /** It loses all it has. */
  flush(): Promise<void>;
  stop(): Promise<void>;
}

const SETTINGS = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'yes', '--maxmemory-policy', 'noeviction'];

/** Whether this machine has a redis-server to start. */
export function hasRedisServer(): boolean {
  return spawnSync('redis-server', ['--version'], { stdio: 'ignore' }).status === 0;
}

export async function startOwnRedis(directory: string): Promise<OwnRedis> {
  await mkdir(directory, { recursive: true });
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  const args = ['--port', String(port), '--dir', directory, ...SETTINGS];
  let server: ChildProcess | undefined = await startServer(args);
  const end = async (signal: NodeJS.Signals) => {
    if (server === undefined) return;
    const exited = once(server, 'exit');
    server.kill(signal);
    await exited;
    server = undefined;
  };
  return {
    url,
    kill: () => end('SIGKILL'),
    async start() {
      server ??= await startServer(args);
    },
    pause: () => void server?.kill('SIGSTOP'),
    resume: () => void server?.kill('SIGCONT'),
    async flush() {
      const redis = new Redis(url);
      await redis.flushall();
      redis.disconnect();
    },
    stop: () => end('SIGKILL'),
  };
}

async function startServer(args: readonly string[]): Promise<ChildProcess> {
  const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'ignore'], detached: true });
  await once(child, 'spawn');
  const watchdog = startWatchdog({ pid: child.pid!, signal: 'KILL' });
  child.once('exit', () => watchdog.end());
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout! }).on('line', (line) => {
      if (line.includes('Ready to accept connections')) resolve();
    });
    child.once('exit', () => reject(new Error('redis-server ended before it was ready')));
  });
  return child;
}
