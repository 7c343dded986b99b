/** The catalog of a process: shipped runbooks and those of a module, checked whole; a digest for each definition. */

import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { shippedRunbooks } from '@muster/runbooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ConfigError, loadCatalog } from '../src/index.ts';

let folder: string;
let count = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'muster-catalog-'));
  // The modules stand where a user's would: outside of our rooms, with our packages within reach.
  const packages = fileURLToPath(new URL('../../../node_modules', import.meta.url));
  await symlink(packages, join(folder, 'node_modules'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Parts {
  readonly threshold?: number;
  readonly label?: string;
  readonly code?: string;
  readonly version?: string;
  readonly name?: string;
  readonly beside?: string;
}

/** Writes a module with one runbook into a folder of its own and gives its path. */
async function moduleOf(parts: Parts = {}): Promise<string> {
  const { threshold = 90, label = 'over the limit', code = 'scope.load = 1', version = '1.0.0', name = 'load' } = parts;
  return await writeModule(
    `
    import { defineRunbook } from '@muster/envelope';
    import { decide, flowChart } from 'footprintjs';
    import { z } from 'zod';
    const list = [{ when: { load: { gt: ${threshold} } }, then: 'overloaded', label: ${JSON.stringify(label)} }];
    const otherwise = 'fine';
    export const runbooks = [defineRunbook({
      name: ${JSON.stringify(name)}, version: ${JSON.stringify(version)}, description: 'Judges a load.',
      resultKind: 'verdict/load',
      rules: { name: 'load-rules', version: '1', list, otherwise },
      verdicts: { decider: 'Load', standings: { overloaded: 'problem', fine: 'ok' } },
      input: z.strictObject({}),
      procedure: () => flowChart('Read', (scope) => { ${code}; }, 'read')
        .addDeciderFunction('Load', (scope) => decide(scope, list, otherwise), 'load')
        .addFunctionBranch('overloaded', 'overloaded', () => undefined)
        .addFunctionBranch('fine', 'fine', () => undefined)
        .end().build(),
    })];
    `,
    parts.beside,
  );
}

async function writeModule(source: string, beside?: string): Promise<string> {
  const file = join(folder, `m${count++}`, 'runbooks.ts');
  await mkdir(dirname(file));
  await writeFile(file, source);
  if (beside !== undefined) await writeFile(join(dirname(file), 'reader.ts'), beside);
  return file;
}

async function digestOf(parts: Parts, buildId?: string): Promise<string | undefined> {
  const { byName } = await loadCatalog({ runbooksModule: await moduleOf(parts), buildId });
  return byName.get(parts.name ?? 'load')?.digest;
}

test('a module stands beside the shipped runbooks, found by name and by digest', async () => {
  const loaded = await loadCatalog({ runbooksModule: await moduleOf(), buildId: undefined });
  expect([...loaded.byName.keys()].sort()).toEqual([...shippedRunbooks.map(({ name }) => name), 'load'].sort());
  for (const definition of loaded.byName.values()) {
    expect(definition.digest).toMatch(/^[0-9a-f]{64}$/);
    expect(loaded.byDigest.get(definition.digest)).toBe(definition);
  }
});

describe('the digest of a definition', () => {
  test('is the same for the same definition, wherever it lies and whenever it is loaded', async () => {
    expect(await digestOf({})).toBe(await digestOf({}));
  });

  test.each<[string, Parts]>([
    ["a rule's threshold", { threshold: 91 }],
    ["a rule's label", { label: 'far over the limit' }],
    ['the code of a stage', { code: 'scope.load = 2' }],
    ['its version', { version: '1.0.1' }],
    ['code in a file beside it', { beside: 'export const read = () => 2;' }],
  ])('changes with %s', async (_what, parts) => {
    expect(await digestOf(parts)).not.toBe(await digestOf({}));
  });

  test.each<[string, Parts]>([
    ["a rule's threshold", { threshold: 91 }],
    ["a rule's label", { label: 'far over the limit' }],
    ['its version', { version: '1.0.1' }],
  ])('changes with %s also where a build is named', async (_what, parts) => {
    expect(await digestOf(parts, 'build-1')).not.toBe(await digestOf({}, 'build-1'));
  });

  test('changes with the build that is named', async () => {
    expect(await digestOf({}, 'build-1')).not.toBe(await digestOf({}, 'build-2'));
  });
});

describe('a module that cannot be used is refused in one line', () => {
  test.each([
    ['is not there', undefined, /^MUSTER_RUNBOOKS: the module could not be loaded: /],
    ['is no program', 'export const runbooks = [', /^MUSTER_RUNBOOKS: the module could not be loaded: /],
    ['throws', "throw new Error('out of order')", /^MUSTER_RUNBOOKS: the module could not be loaded: out of order$/],
    ['exports nothing', 'export {};', /^MUSTER_RUNBOOKS: the module must export a list `runbooks`/],
    [
      'exports tools that are no list',
      'export const runbooks = []; export const tools = {};',
      /`tools` and `hooks` as lists/,
    ],
    ['exports hooks that are no list', 'export const runbooks = []; export const hooks = {};', /`hooks` as lists/],
  ])('it %s', async (_what, source, expected) => {
    const file = source === undefined ? join(folder, 'nowhere.ts') : await writeModule(source);
    const error = await loadCatalog({ runbooksModule: file, buildId: undefined }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as Error).message).toMatch(expected);
    expect((error as Error).message).not.toMatch(/\n/);
  });

  test('it names a runbook as a shipped one is named', async () => {
    const file = await moduleOf({ name: 'kubernetes_workloads' });
    const error = await loadCatalog({ runbooksModule: file, buildId: undefined }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'catalog_invalid',
      message: "two runbooks are named 'kubernetes_workloads'",
    });
  });

  test.each([
    ["export const runbooks = [{ name: 'raw' }];", 'every entry of `runbooks` must be what defineRunbook returned'],
    ['export const runbooks = [null];', 'every entry of `runbooks` must be what defineRunbook returned'],
    [
      "export const runbooks = []; export const tools = [{ name: 'raw' }];",
      'every entry of `tools` must be what defineTool returned',
    ],
  ])('it lists what nobody defined: %s', async (source, expected) => {
    const file = await writeModule(source);
    const error = await loadCatalog({ runbooksModule: file, buildId: undefined }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as Error).message).toBe(`MUSTER_RUNBOOKS: ${expected}`);
  });

  test.each([
    [
      `{ credential: 'kube', from: { file: 'kube' }, perTarget: true }`,
      'differs by target, but its place has no {target}',
    ],
    [
      `[{ credential: 'kube', from: { env: 'X_{target}' } }]`,
      'has {target} in its place, but is not declared as perTarget',
    ],
    [`{ credential: 'a/b' }`, 'has no place, and its name cannot stand for one'],
  ])('it has a tool whose credential can lie nowhere: %s', async (needs, expected) => {
    const file = await writeModule(`
      import { defineTool } from '@muster/envelope';
      export const runbooks = [];
      export const tools = [defineTool({ name: 'nodes', description: 'Reads.', needs: ${needs}, execute: () => 1 })];`);
    const error = await loadCatalog({ runbooksModule: file, buildId: undefined }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as Error).message).toMatch(/^MUSTER_RUNBOOKS: the credential '.*' of the tool 'nodes' /);
    expect((error as Error).message.endsWith(expected)).toBe(true);
  });
});
