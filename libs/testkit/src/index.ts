/** What tests of all rooms build on. Nothing outside tests imports it. */
export { canarySecret, findCanary, findCanaryInFolder } from './canary.ts';
export { newCounterIds } from './counter-ids.ts';
export type { ManualClock } from './manual-clock.ts';
export { manualClock } from './manual-clock.ts';
export type { TestQueueBackend } from './queue-backends.ts';
export { testQueueBackends } from './queue-backends.ts';
export { startS3Endpoint } from './s3-endpoint.ts';
export type { TestS3 } from './s3-service.ts';
export type { SeverableLink } from './severable-link.ts';
export { severableLink } from './severable-link.ts';
export type { ProcessExit, SpawnedService, SpawnServiceOptions } from './spawn-service.ts';
export { spawnService } from './spawn-service.ts';
export type { TestDatabase } from './test-database.ts';
export { testDatabase } from './test-database.ts';
export { testS3 } from './test-s3.ts';
export type { WaitForOptions } from './wait-for.ts';
export { waitFor } from './wait-for.ts';
