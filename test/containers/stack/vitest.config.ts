/** Tests of a stack that `infra/check/containers.sh` started from `infra/compose.yaml`. They need nothing of the testkit. */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  root: fileURLToPath(new URL('../../..', import.meta.url)),
  test: {
    name: 'stack',
    include: ['test/containers/stack/*.test.ts'],
    environment: 'node',
    testTimeout: 120_000,
    hookTimeout: 120_000,
    reporters: ['default', './libs/testkit/src/closing-line-reporter.ts'],
  },
});
