import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@muster/embedded';
import { Redis } from 'ioredis';

export interface RunningRedis {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** The version of the redis-server in the PATH; undefined where there is none. */
export function redisVersion(): string | undefined {
  const { error, stdout } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' });
  return error === undefined ? /v=(\S+)/.exec(stdout)?.[1] : undefined;
}

/** A redis-server of our own as production would run it (appending), or undefined where none is installed. */
export async function startRedis(): Promise<RunningRedis | undefined> {
  if (redisVersion() === undefined) return undefined;
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'muster-redis-'));
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--appendonly', 'yes', '--save', ''];
  const child = spawn('redis-server', args, { stdio: 'ignore' });
  const exited = new Promise((resolve) => child.on('exit', resolve));
  const url = `redis://127.0.0.1:${port}`;
  const probe = new Redis(url, { retryStrategy: () => 50, maxRetriesPerRequest: null });
  probe.on('error', () => {});
  const died = exited.then((code) => {
    throw new Error(`redis-server ended with ${code} before it was ready`);
  });
  await Promise.race([probe.ping(), died]).finally(() => probe.disconnect());
  died.catch(() => {});
  return {
    url,
    pid: child.pid as number,
    async stop() {
      child.kill('SIGTERM');
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
