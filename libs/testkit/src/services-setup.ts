/** Global setup of a test run: one broker for the shared services. They start when a test asks, and end with the run. */
import { startServiceBroker } from './service-broker.ts';

interface TestRun {
  provide(key: 'musterServices', path: string): void;
}

export default async function setup(run: TestRun): Promise<() => Promise<void>> {
  // Loaded when asked for: a run of pure tests pays for none of them.
  const broker = await startServiceBroker({
    database: async (folder) => (await import('./postgres-service.ts')).startPostgresService(folder),
    redis: async (folder) => (await import('./redis-service.ts')).startRedisService(folder),
    s3: async () => (await import('./s3-service.ts')).startS3Service(),
  });
  run.provide('musterServices', broker.path);
  return () => broker.stop();
}
