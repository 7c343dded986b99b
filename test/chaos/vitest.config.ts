/** `npm run test:chaos`. One file after another: the faults are to be ours, not those of a machine with too much to do. */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { readPlan } from './plan.ts';

const { long } = readPlan(process.env);

export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    name: 'chaos',
    include: ['test/chaos/*.test.ts'],
    environment: 'node',
    pool: 'forks',
    fileParallelism: false,
    testTimeout: long ? 600_000 : 300_000,
    hookTimeout: 120_000,
    passWithNoTests: false,
    globalSetup: ['test/chaos/measurements-setup.ts'],
    reporters: ['default', './libs/testkit/src/closing-line-reporter.ts'],
  },
});
