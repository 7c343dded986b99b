/**
 * Mutation testing of this room: `npm run test:mutation`. What it found is in docs/testing.md.
 *
 * It runs from the root of the tree, on a copy in `coverage/`, so sources are never touched.
 */
import { readdirSync } from 'node:fs';

const otherRooms = readdirSync(new URL('..', import.meta.url)).filter((room) => room !== 'envelope');

export default {
  packageManager: 'npm',
  plugins: ['@stryker-mutator/vitest-runner'],
  testRunner: 'vitest',
  vitest: { configFile: 'libs/envelope/vitest.mutation.config.ts', related: false, pool: 'threads' },
  mutate: ['libs/envelope/src/**/*.ts', '!libs/envelope/src/index.ts'],
  // The room imports none of ours: nothing else has to be copied.
  ignorePatterns: [
    ...['.muster', '.turbo', 'coverage', 'docs', 'infra', 'scripts', 'services', 'test'].map((folder) => `/${folder}`),
    ...otherRooms.map((room) => `/libs/${room}`),
  ],
  // Rewriting it needs TypeScript's JavaScript API, which TypeScript 7 does not have; nothing compiles here anyway.
  tsconfigFile: 'none',
  coverageAnalysis: 'perTest',
  // What acts once while a module loads (sentences, schemas, tables) would cost the whole suite for each mutant.
  ignoreStatic: true,
  concurrency: 1,
  timeoutMS: 5_000,
  reporters: ['clear-text', 'json', 'progress-append-only'],
  jsonReporter: { fileName: 'coverage/mutation.json' },
  clearTextReporter: { allowColor: false, logTests: false },
  tempDirName: 'coverage/stryker-tmp',
  incrementalFile: 'coverage/stryker-incremental.json',
};
