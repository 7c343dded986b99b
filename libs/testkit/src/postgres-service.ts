/** The PostgreSQL of a test run. Each asker gets a fresh database on it. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '@muster/embedded';
import pg from 'pg';
import { startContainer } from './container-service.ts';
import type { Loan, SharedService } from './service-broker.ts';

const DEFAULT_IMAGE = 'postgres:18-alpine';
const PORT = 5432;
/** Test data are thrown away: nothing has to survive a crash. */
const THROWAWAY = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off' };
const MAX_CONNECTIONS = '400';

interface PostgresServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** From the environment, from a container, or embedded with its data in the folder: the first that can be had. */
export async function startPostgresService(
  folder: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<SharedService<{ url: string }>> {
  const server = givenServer(env) ?? (await containerServer(env)) ?? (await embeddedServer(folder));
  const admin = new pg.Pool({ connectionString: server.url, max: 4 });
  // A connection that breaks while it rests says so here; the next question over the pool fails with its reason.
  admin.on('error', () => undefined);
  try {
    await admin.query('select 1');
  } catch (error) {
    await admin.end();
    await server.stop();
    throw new Error(`PostgreSQL does not answer: ${(error as Error).message}`);
  }
  return {
    lend: () => lendDatabase(admin, server.url),
    async stop() {
      await admin.end();
      await server.stop();
    },
  };
}

async function lendDatabase(admin: pg.Pool, serverUrl: string): Promise<Loan<{ url: string }>> {
  const name = `muster_test_${randomBytes(8).toString('hex')}`;
  await admin.query(`create database ${name} template template0`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return {
    value: { url: url.href },
    async takeBack() {
      await admin.query(`drop database if exists ${name} with (force)`);
    },
  };
}

function givenServer(env: NodeJS.ProcessEnv): PostgresServer | undefined {
  const url = env.MUSTER_TEST_DATABASE_URL;
  return url === undefined || url === '' ? undefined : { url, stop: async () => undefined };
}

async function containerServer(env: NodeJS.ProcessEnv): Promise<PostgresServer | undefined> {
  const password = randomBytes(12).toString('hex');
  const settings = Object.entries({ ...THROWAWAY, max_connections: MAX_CONNECTIONS });
  const container = await startContainer(
    {
      name: 'PostgreSQL',
      image: env.MUSTER_TEST_POSTGRES_IMAGE || DEFAULT_IMAGE,
      port: PORT,
      environment: { POSTGRES_PASSWORD: password },
      command: ['postgres', ...settings.flatMap(([key, value]) => ['-c', `${key}=${value}`])],
      // The image starts the server twice: once to prepare its data, once for good.
      ready: { line: /database system is ready to accept connections/, times: 2 },
    },
    env,
  );
  if (container === undefined) return undefined;
  const { host, port, stop } = container;
  return { url: `postgres://postgres:${password}@${host}:${port}/postgres`, stop };
}

async function embeddedServer(folder: string): Promise<PostgresServer> {
  const settings = { ...THROWAWAY, max_connections: MAX_CONNECTIONS };
  return startEmbeddedPostgres({ directory: join(folder, 'postgres'), settings });
}
