/**
 * One project a room; `vitest run libs/queue` or `--project queue` runs one of them. What needs Docker has a script and a
 * configuration of its own (`test/containers`).
 */
import { existsSync, readdirSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

const project = (name: string, include: string[]) => ({
  extends: true as const,
  test: { name, include },
});

const rooms = ['libs', 'services'].flatMap((folder) =>
  readdirSync(new URL(folder, import.meta.url))
    .filter((room) => existsSync(new URL(`${folder}/${room}/package.json`, import.meta.url)))
    .map((room) => project(room, [`${folder}/${room}/test/**/*.test.ts`])),
);

export default defineConfig({
  test: {
    projects: [...rooms, project('e2e', ['test/*.test.ts', 'test/e2e/**/*.test.ts'])],
    environment: 'node',
    pool: 'forks',
    testTimeout: 30_000,
    hookTimeout: 120_000,
    passWithNoTests: false,
    globalSetup: ['libs/testkit/src/services-setup.ts'],
    reporters: ['default', './libs/testkit/src/closing-line-reporter.ts'],
  },
});
