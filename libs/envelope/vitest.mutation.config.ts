/**
 * The tests of this room as mutation testing runs them. Mutants are switched on at run time and those that act while a
 * module loads are left out (`ignoreStatic`), so the files may share their modules: a mutant costs no new imports.
 */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['libs/envelope/test/**/*.test.ts'],
    environment: 'node',
    isolate: false,
    testTimeout: 30_000,
  },
});
