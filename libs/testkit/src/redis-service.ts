/** The Redis of a test run. Each asker gets an empty database number of its own, emptied again when it is given back. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { freePort, startWatchdog } from '@muster/embedded';
import { Redis } from 'ioredis';
import { startContainer } from './container-service.ts';
import type { Loan, SharedService } from './service-broker.ts';

const DEFAULT_IMAGE = 'redis:8-alpine';
const PORT = 6379;
const SETTINGS = ['--save', '', '--appendonly', 'no', '--databases', '1024', '--maxmemory-policy', 'noeviction'];
/** A claim on a database number of somebody's Redis does not outlive a run that was killed by more than this. */
const CLAIM_SECONDS = 3600;

interface RedisServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** What a test gets: null when this machine has no Redis at all. */
export type LentRedis = { readonly url: string } | null;

/** From the environment, from a container, or `redis-server` of this machine. Without any, `null` is lent, loudly. */
export async function startRedisService(
  folder: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<SharedService<LentRedis>> {
  const server = givenServer(env) ?? (await containerServer(env)) ?? (await localServer(folder));
  if (server === undefined) {
    console.error('testkit: NO REDIS HERE (no REDIS_URL, no redis-server): queue tests run on PostgreSQL only');
    return { lend: async () => ({ value: null, takeBack: async () => undefined }), stop: async () => undefined };
  }
  const admin = new Redis(server.url, { lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 });
  admin.on('error', () => undefined);
  try {
    await admin.connect();
  } catch (error) {
    await server.stop();
    throw new Error(`Redis does not answer: ${(error as Error).message}`);
  }
  return {
    lend: () => lendDatabaseNumber(admin, server.url),
    async stop() {
      admin.disconnect();
      await server.stop();
    },
  };
}

/** Somebody's Redis may hold data: only a number that is empty and unclaimed is taken, and only that one is emptied. */
async function lendDatabaseNumber(admin: Redis, serverUrl: string): Promise<Loan<LentRedis>> {
  const token = randomBytes(8).toString('hex');
  const count = await databaseCount(admin);
  for (let number = 1; number < count; number += 1) {
    const claim = `muster:test:database:${number}`;
    if ((await admin.set(claim, token, 'EX', CLAIM_SECONDS, 'NX')) === null) continue;
    if ((await inDatabase(admin, number, 'dbsize')) !== 0) {
      await admin.del(claim);
      continue;
    }
    const url = new URL(serverUrl);
    url.pathname = `/${number}`;
    return {
      value: { url: url.href },
      async takeBack() {
        await inDatabase(admin, number, 'flushdb');
        await admin.del(claim);
      },
    };
  }
  throw new Error(`Redis has no empty database number left of its ${count}`);
}

async function databaseCount(admin: Redis): Promise<number> {
  const answer = (await admin.config('GET', 'databases').catch(() => [])) as string[];
  return Number(answer[1] ?? 16);
}

/** One transaction, so that the admin connection never rests on another number. */
async function inDatabase(admin: Redis, number: number, command: 'dbsize' | 'flushdb'): Promise<unknown> {
  const replies = await admin.multi().select(number)[command]().select(0).exec();
  const [error, reply] = replies?.[1] ?? [new Error('Redis gave no reply'), undefined];
  if (error !== null) throw error;
  return reply;
}

function givenServer(env: NodeJS.ProcessEnv): RedisServer | undefined {
  const url = env.MUSTER_TEST_REDIS_URL || env.REDIS_URL;
  return url === undefined || url === '' ? undefined : { url, stop: async () => undefined };
}

async function containerServer(env: NodeJS.ProcessEnv): Promise<RedisServer | undefined> {
  const container = await startContainer(
    {
      name: 'Redis',
      image: env.MUSTER_TEST_REDIS_IMAGE || DEFAULT_IMAGE,
      port: PORT,
      command: ['redis-server', ...SETTINGS, '--protected-mode', 'no'],
      ready: { line: /Ready to accept connections/, times: 1 },
    },
    env,
  );
  return container && { url: `redis://${container.host}:${container.port}`, stop: container.stop };
}

async function localServer(folder: string): Promise<RedisServer | undefined> {
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, ...SETTINGS];
  const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'ignore'], detached: true });
  const ended = new Promise<void>((fulfil) => child.once('close', () => fulfil()));
  try {
    await once(child, 'spawn');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const watchdog = startWatchdog({ pid: child.pid!, signal: 'KILL' });
  void ended.then(() => watchdog.end());
  await new Promise<void>((fulfil, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.includes('Ready to accept connections')) fulfil();
    });
    void ended.then(() => reject(new Error(`redis-server ended before it was ready (port ${port})`)));
  });
  return {
    url: `redis://127.0.0.1:${port}`,
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
