/** The queue backends that exist in this test run. */
import { borrowService } from './borrow-service.ts';
import type { LentRedis } from './redis-service.ts';
import { testDatabase } from './test-database.ts';

/** A backend to run queue tests on, with a place of its own that nobody else uses. */
export interface TestQueueBackend {
  readonly name: 'postgres' | 'redis';
  /** A fresh database, or an empty database number. Both go by themselves when the test file ends. */
  readonly url: string;
}

/**
 * Which backends queue tests run on: always `postgres`, and `redis` when a server can be had. Await it at the head of a
 * test file and give it to `describe.each`; each call gives fresh places.
 */
export async function testQueueBackends(): Promise<TestQueueBackend[]> {
  const [database, redis] = await Promise.all([testDatabase(), borrowService<LentRedis>('redis')]);
  const backends: TestQueueBackend[] = [{ name: 'postgres', url: database.url }];
  if (redis.value !== null) backends.push({ name: 'redis', url: redis.value.url });
  return backends;
}
