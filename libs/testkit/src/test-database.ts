import { borrowService } from './borrow-service.ts';

/** A database of one test's own. */
export interface TestDatabase {
  /** Connection URL of a user who may do everything in it. */
  readonly url: string;
  /** Drops it, closing what is still connected. It goes by itself when the test file ends. */
  drop(): Promise<void>;
}

/**
 * A fresh, empty database on the PostgreSQL of this test run. Tests never share one.
 *
 * @throws Error when there is no PostgreSQL to be had, with the reason.
 */
export async function testDatabase(): Promise<TestDatabase> {
  const { value, giveBack } = await borrowService<{ url: string }>('database');
  return { url: value.url, drop: giveBack };
}
