import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@muster/embedded';
import { Redis } from 'ioredis';

/** A redis-server of our own as production would run it (appending), or undefined where none is installed. */
export async function startRedis(): Promise<{ url: string; stop(): Promise<void> } | undefined> {
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'muster-redis-'));
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--appendonly', 'yes', '--save', ''];
  const child = spawn('redis-server', args, { stdio: 'ignore' });
  const started = await new Promise<boolean>((resolve) => {
    child.on('error', () => resolve(false));
    child.on('spawn', () => resolve(true));
  });
  if (!started) return undefined;
  const url = `redis://127.0.0.1:${port}`;
  const probe = new Redis(url, { retryStrategy: () => 50 });
  await probe.ping();
  probe.disconnect();
  return {
    url,
    async stop() {
      const exited = new Promise((resolve) => child.on('exit', resolve));
      child.kill('SIGTERM');
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
