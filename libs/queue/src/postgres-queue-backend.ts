import { createPostgresBackend, Queue, runMigrations, Worker } from 'bullmq';
import pg from 'pg';
import { hostOf, MAX_STALLED_COUNT, type QueueBackend, QueueUnavailableError } from './queue-backend.ts';

const PRODUCER_CONNECTIONS = 2;
const CONSUMER_CONNECTIONS = 4;
/** SQLSTATE of a schema and of a table that are not there. */
const NOT_THERE = new Set<string | undefined>(['3F000', '42P01']);

/** The queue on PostgreSQL, in a schema of its own: where nothing is to be installed. */
export function postgresQueueBackend(options: { readonly url: string; readonly prefix: string }): QueueBackend {
  const { url } = options;
  const schema = `${options.prefix}_queue`;
  const where = hostOf(url);
  const connection = (max: number) => ({ connectionString: url, schema, max, keepAlive: true });
  return {
    name: 'postgres',
    async prepare() {
      await withClient(url, where, 10_000, (client) => runMigrations(client, schema));
    },
    async ping(timeoutMs) {
      await withClient(url, where, timeoutMs, (client) => client.query('select 1'));
    },
    openQueue: (name) =>
      new Queue(name, { connection: connection(PRODUCER_CONNECTIONS) } as never, createPostgresBackend as never),
    openMark() {
      const pool = new pg.Pool({ connectionString: url, max: 1, connectionTimeoutMillis: 5000, query_timeout: 5000 });
      pool.on('error', () => {});
      const table = `${pg.escapeIdentifier(schema)}.muster_mark`;
      return {
        async isThere() {
          try {
            return (await pool.query(`select from ${table}`)).rowCount === 1;
          } catch (error) {
            if (NOT_THERE.has((error as { code?: string }).code)) return false;
            throw new QueueUnavailableError(where, { cause: error });
          }
        },
        async set() {
          await pool.query(`create table if not exists ${table} (there boolean primary key)`);
          await pool.query(`insert into ${table} values (true) on conflict do nothing`);
        },
        close: () => pool.end(),
      };
    },
    openWorker: (name, process, { lockMs, stallCheckMs, concurrency }) =>
      new Worker(
        name,
        process,
        {
          connection: connection(CONSUMER_CONNECTIONS),
          concurrency,
          lockDuration: lockMs,
          stalledInterval: stallCheckMs,
          maxStalledCount: MAX_STALLED_COUNT,
          autorun: false,
        } as never,
        createPostgresBackend as never,
      ),
  };
}

async function withClient<T>(
  url: string,
  where: string,
  timeoutMs: number,
  use: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs });
  client.on('error', () => {});
  try {
    await client.connect();
  } catch (error) {
    throw new QueueUnavailableError(where, { cause: error });
  }
  try {
    return await use(client);
  } finally {
    await client.end().catch(() => {});
  }
}
