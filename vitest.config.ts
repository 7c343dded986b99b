/**
 * One project a room; `vitest run libs/queue` or `--project queue` runs one of them. `npm test` runs all but two: faults
 * (`MUSTER_TEST_ROOM=chaos`) and what needs Docker (`MUSTER_TEST_ROOM=containers`) have scripts of their own.
 */
import { existsSync, readdirSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

const ROOMS_OF_THEIR_OWN = ['chaos', 'containers'];

const project = (name: string, include: string[]) => ({
  extends: true as const,
  test: { name, include },
});

const rooms = ['libs', 'services'].flatMap((folder) =>
  readdirSync(new URL(folder, import.meta.url))
    .filter((room) => existsSync(new URL(`${folder}/${room}/package.json`, import.meta.url)))
    .map((room) => project(room, [`${folder}/${room}/test/**/*.test.ts`])),
);

const asked = process.env.MUSTER_TEST_ROOM;
const special = asked !== undefined && ROOMS_OF_THEIR_OWN.includes(asked);

export default defineConfig({
  test: {
    projects: special
      ? [project(asked, [`test/${asked}/**/*.test.ts`])]
      : [...rooms, project('e2e', ['test/*.test.ts', 'test/e2e/**/*.test.ts'])],
    environment: 'node',
    pool: 'forks',
    testTimeout: 30_000,
    hookTimeout: 120_000,
    passWithNoTests: false,
    globalSetup: ['libs/testkit/src/services-setup.ts'],
    reporters: ['default', './libs/testkit/src/closing-line-reporter.ts'],
  },
});
