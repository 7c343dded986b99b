export type { TestQueueBackend } from './queue-backends.ts';
export { testQueueBackends } from './queue-backends.ts';
export type { TestDatabase } from './test-database.ts';
export { testDatabase } from './test-database.ts';
