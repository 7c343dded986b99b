import type { TestQueueBackend } from '@muster/testkit';
import { Redis } from 'ioredis';
import pg from 'pg';

/** Empties a test's own store as a flush, or a new and empty server, would. */
export async function loseEverything(name: TestQueueBackend['name'], url: string, prefix: string): Promise<void> {
  if (name === 'redis') {
    const redis = new Redis(url);
    await redis.flushdb();
    redis.disconnect();
    return;
  }
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`drop schema ${prefix}_queue cascade`);
  await client.end();
}
