import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { testQueueBackends } from '../src/index.ts';

const backends = await testQueueBackends();

test('PostgreSQL is always among the queue backends', () => {
  expect(backends.map((backend) => backend.name)).toContain('postgres');
});

if (backends.some((backend) => backend.name === 'redis')) {
  test('each asker gets an empty database number of its own', async () => {
    const urls = [...backends, ...(await testQueueBackends())]
      .filter((one) => one.name === 'redis')
      .map((one) => one.url);
    expect(new Set(urls).size).toBe(2);
    for (const url of urls) {
      const client = new Redis(url);
      expect(await client.dbsize()).toBe(0);
      await client.set('mine', url);
      client.disconnect();
    }
  });
}
