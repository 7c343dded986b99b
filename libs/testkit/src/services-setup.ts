/** Global setup of a test run: one broker for the shared services. They start when a test asks, and end with the run. */
import { startPostgresService } from './postgres-service.ts';
import { startRedisService } from './redis-service.ts';
import { startS3Service } from './s3-service.ts';
import { startServiceBroker } from './service-broker.ts';

interface TestRun {
  provide(key: 'musterServices', path: string): void;
}

export default async function setup(run: TestRun): Promise<() => Promise<void>> {
  const broker = await startServiceBroker({
    database: startPostgresService,
    redis: startRedisService,
    s3: startS3Service,
  });
  run.provide('musterServices', broker.path);
  return () => broker.stop();
}
