/**
 * `npm run test:containers`: the suites that stand on PostgreSQL, Redis and S3, with all three from Testcontainers and from
 * nowhere else. Needs a Docker engine that has the images or can pull them (names: `MUSTER_TEST_POSTGRES_IMAGE`,
 * `MUSTER_TEST_REDIS_IMAGE`, `MUSTER_TEST_S3_IMAGE`).
 */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// Read by the global setup, in this process. Addresses would come before containers.
process.env.MUSTER_TEST_CONTAINERS = '1';
for (const name of ['MUSTER_TEST_DATABASE_URL', 'MUSTER_TEST_REDIS_URL', 'REDIS_URL', 'MUSTER_TEST_S3_ENDPOINT']) {
  delete process.env[name];
}

export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    name: 'containers',
    include: [
      'test/containers/*.test.ts',
      'test/*.test.ts',
      'test/e2e/**/*.test.ts',
      'libs/results/test/**/*.test.ts',
      'libs/queue/test/**/*.test.ts',
      'libs/artifacts/test/artifact-store-contract.test.ts',
      'services/worker/test/**/*.test.ts',
    ],
    environment: 'node',
    pool: 'forks',
    testTimeout: 60_000,
    hookTimeout: 180_000,
    passWithNoTests: false,
    globalSetup: ['test/containers/s3-container.ts', 'libs/testkit/src/services-setup.ts'],
    reporters: ['default', './libs/testkit/src/closing-line-reporter.ts'],
  },
});
