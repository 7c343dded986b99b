/** Addresses from the environment come first, and somebody's own servers keep what is in them. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { Redis } from 'ioredis';
import pg from 'pg';
import { expect, test } from 'vitest';
import { testDatabase, testQueueBackends } from '../src/index.ts';
import { startPostgresService } from '../src/postgres-service.ts';
import { startRedisService } from '../src/redis-service.ts';
import { startS3Service } from '../src/s3-service.ts';

const redis = (await testQueueBackends()).find((backend) => backend.name === 'redis');

test('a PostgreSQL given by address is used, and only our databases on it are dropped', async () => {
  const given = await testDatabase();
  const service = await startPostgresService(tmpdir(), { MUSTER_TEST_DATABASE_URL: given.url });
  const loan = await service.lend();
  expect(new URL(loan.value.url).host).toBe(new URL(given.url).host);
  await loan.takeBack();
  await service.stop();
  const client = new pg.Client({ connectionString: given.url });
  await client.connect();
  const name = new URL(loan.value.url).pathname.slice(1);
  const { rows } = await client.query('select datname from pg_database where datname = $1', [name]);
  expect(rows).toEqual([]);
  await client.end();
});

test('a given PostgreSQL that does not answer is an error, never another one in silence', async () => {
  const url = `postgres://somebody@127.0.0.1:${await closedPort()}/none`;
  await expect(startPostgresService(tmpdir(), { MUSTER_TEST_DATABASE_URL: url })).rejects.toThrow(
    'PostgreSQL does not answer',
  );
});

test('a given Redis that does not answer is an error, never another one in silence', async () => {
  const url = `redis://127.0.0.1:${await closedPort()}`;
  await expect(startRedisService(tmpdir(), { REDIS_URL: url })).rejects.toThrow('Redis does not answer');
});

test('an S3 endpoint given by address must be given whole', async () => {
  const given = {
    MUSTER_TEST_S3_ENDPOINT: 'http://127.0.0.1:1',
    MUSTER_TEST_S3_ACCESS_KEY_ID: 'key',
    MUSTER_TEST_S3_SECRET_ACCESS_KEY: 'secret',
    MUSTER_TEST_S3_BUCKET: 'bucket',
  };
  const service = await startS3Service(given);
  expect((await service.lend()).value).toEqual({
    endpoint: 'http://127.0.0.1:1',
    region: 'us-east-1',
    credentials: { accessKeyId: 'key', secretAccessKey: 'secret' },
    bucket: 'bucket',
  });
  await service.stop();
  await expect(startS3Service({ ...given, MUSTER_TEST_S3_BUCKET: '' })).rejects.toThrow('MUSTER_TEST_S3_BUCKET');
});

if (redis !== undefined) {
  test('on a given Redis a database number with data in it is neither lent nor emptied', async () => {
    const kept = new Redis(redis.url);
    await kept.set('precious', 'yes');
    const service = await startRedisService(tmpdir(), { REDIS_URL: redis.url });
    const loans = [await service.lend(), await service.lend()];
    const paths = loans.map((loan) => new URL(loan.value!.url).pathname);
    expect(new Set([...paths, new URL(redis.url).pathname]).size).toBe(3);
    for (const loan of loans) await loan.takeBack();
    await service.stop();
    expect(await kept.get('precious')).toBe('yes');
    kept.disconnect();
  });
}

async function closedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
