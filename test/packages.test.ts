import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fileBlocks } from './guide/guide-blocks.ts';
import { installPackedLibraries, type PackedLibraries, root } from './packages/packed-libraries.ts';

// npm's own Node too, which is an older one where a machine brings its own.
const nodes = [...new Set([process.execPath, process.env.npm_node_execpath ?? process.execPath])];
const tsc = join(root, 'node_modules/typescript/bin/tsc');
let packages: PackedLibraries;

beforeAll(() => {
  packages = installPackedLibraries();
});

afterAll(() => rmSync(packages.place, { recursive: true, force: true }));

describe.each(['envelope', 'artifacts'])('the package of libs/%s', (library) => {
  const installed = () => join(packages.consumer, 'node_modules/@muster', library);
  const manifestOf = (folder: string) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));

  test('holds code, declarations and a licence, and no source', () => {
    const files = readdirSync(installed(), { recursive: true, encoding: 'utf8' });
    expect(files).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'dist/index.js', 'dist/index.d.ts']));
    expect(files.filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))).toEqual([]);
    expect(files.some((file) => file.startsWith('src') || file.startsWith('test'))).toBe(false);
  });

  test('has a manifest of its own: built entries that are there, ranges, and no scripts', () => {
    const manifest = manifestOf(installed());
    const source = manifestOf(join(root, 'libs', library));
    expect(Object.keys(manifest.exports)).toEqual(Object.keys(source.exports));
    for (const entry of Object.values<string | Record<string, string>>(manifest.exports)) {
      for (const file of typeof entry === 'string' ? [entry] : Object.values(entry)) {
        expect(existsSync(join(installed(), file)), file).toBe(true);
      }
    }
    expect(manifest).toMatchObject({ name: `@muster/${library}`, version: source.version, license: 'Apache-2.0' });
    expect(manifest).not.toHaveProperty('scripts');
    expect(manifest).not.toHaveProperty('private');
    expect(Object.keys(manifest.dependencies)).toEqual(Object.keys(source.dependencies));
    for (const range of Object.values(manifest.dependencies)) expect(range).toMatch(/^[~^]\d/);
  });

  test('imports its own files by the names that they have there', () => {
    const dist = join(installed(), 'dist');
    const files = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((file) => /\.(js|d\.ts)$/.test(file));
    for (const file of files) {
      const text = readFileSync(join(dist, file), 'utf8');
      for (const [, from = ''] of text.matchAll(/(?:from |import\()['"](\.[^'"]+)['"]/g)) {
        expect(existsSync(join(dist, dirname(file), from)), `${from} of ${file}`).toBe(true);
      }
    }
  });
});

test('packing leaves a folder as it was, also when the packing before was interrupted', () => {
  const folder = join(packages.tree, 'libs/envelope');
  const before = readFileSync(join(root, 'libs/envelope/package.json'), 'utf8');
  const manifest = () => readFileSync(join(folder, 'package.json'), 'utf8');
  const step = (name: string) =>
    execFileSync(process.execPath, [join(packages.tree, 'scripts/pack-libs.mjs'), name], { cwd: folder });
  expect(manifest()).toBe(before);
  step('prepack');
  expect(manifest()).not.toBe(before);
  step('prepack');
  step('postpack');
  expect(manifest()).toBe(before);
  expect(existsSync(join(folder, 'LICENSE'))).toBe(false);
  step('postpack');
  expect(manifest()).toBe(before);
});

test.each(['nodenext', 'bundler'])('a consumer is checked by the declarations: %s', (resolution) => {
  writeFileSync(
    join(packages.consumer, 'checked.ts'),
    `import { inMemoryArtifacts, isArtifactRef } from '@muster/artifacts';
import { artifactStoreContract } from '@muster/artifacts/contract';
import { defineTool, runbookAsTool, type RunbookEnvelope } from '@muster/envelope';
export const answer = async (tool: ReturnType<typeof runbookAsTool>) =>
  (await tool.execute({}, { toolCallId: 'c1' })) as RunbookEnvelope;
export const sentence = async (tool: ReturnType<typeof runbookAsTool>): Promise<string> => (await answer(tool)).af_coverage.sentence;
export const kept = [inMemoryArtifacts(), isArtifactRef('x'), artifactStoreContract.length];
// @ts-expect-error a tool has a description
export const tool = defineTool({ name: 'x', execute: () => 1 });
`,
  );
  const modules = resolution === 'bundler' ? { module: 'esnext', moduleResolution: 'bundler' } : { module: 'nodenext' };
  writeTsconfig({ ...modules, noEmit: true, skipLibCheck: false }, ['checked.ts']);
  expect(compile()).toBe('');
});

test('the worked example runs on the package as on the sources, on each Node', () => {
  cpSync(join(root, 'libs/envelope/examples/backup-triage.ts'), join(packages.consumer, 'backup-triage.ts'));
  writeTsconfig({ module: 'nodenext', outDir: 'built', skipLibCheck: true }, ['backup-triage.ts']);
  expect(compile()).toBe('');
  writeFileSync(
    join(packages.consumer, 'built/run.mjs'),
    `import { bindArtifacts, inMemoryArtifacts } from '@muster/artifacts';
import { runTriage } from './backup-triage.js';
const store = bindArtifacts(inMemoryArtifacts(), { tenant: 't', conversationId: 'c' });
const { result: { walk }, ...kept } = await runTriage(store);
if ((await store.get(walk.ref))?.meta.kind !== walk.kind) throw new Error('the walk was not filed');
const { result, af_coverage } = await runTriage();
console.log(JSON.stringify({ af_coverage, result }, null, 2));
`,
  );
  const expected = execFileSync(process.execPath, [join(root, 'libs/envelope/examples/backup-triage.ts')]).toString();
  for (const node of nodes) {
    expect(execFileSync(node, ['built/run.mjs'], { cwd: packages.consumer, encoding: 'utf8' })).toBe(expected);
  }
});

test('a runbook of a project of its own, with its own copies of all it imports, passes muster try', () => {
  for (const { file, text } of fileBlocks(readFileSync(join(root, 'docs/guides/write-a-runbook.md'), 'utf8'))) {
    mkdirSync(dirname(join(packages.consumer, file)), { recursive: true });
    writeFileSync(join(packages.consumer, file), text);
  }
  const certificates = tryRunbook('my-runbooks/certificates.ts', ['certificates']);
  expect(certificates.map(({ subject, verdict, standing }) => [subject, verdict, standing])).toEqual([
    ['mail.north', 'renew', 'problem'],
    ['shop.north', 'valid', 'ok'],
    ['api.south', 'declined', 'declined'],
  ]);
  const one = tryRunbook('my-runbooks/one-certificate.ts', [
    'one_certificate',
    ...['--input', 'host=mail.north', '--input', 'expires=2026-12-05T00:00:00Z'],
  ]);
  expect(one).toEqual([expect.objectContaining({ subject: 'mail.north', verdict: 'renew', standing: 'problem' })]);
});

function tryRunbook(module: string, args: readonly string[]): Record<string, unknown>[] {
  const cli = join(root, 'services/cli/src/main.ts');
  const env = {
    PATH: process.env.PATH,
    HOME: packages.consumer,
    MUSTER_RUNBOOKS: module,
    MUSTER_CREDENTIAL_REGISTRY: 'open sesame',
  };
  const all = [cli, 'try', ...args, '--now', '2026-12-01T00:00:00Z', '--rows'];
  const { status, stdout, stderr } = spawnSync(process.execPath, all, {
    cwd: packages.consumer,
    env,
    encoding: 'utf8',
  });
  expect(status, stderr).toBe(0);
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

function writeTsconfig(options: object, include: readonly string[]): void {
  const compilerOptions = { strict: true, target: 'es2022', types: ['node'], ...options };
  writeFileSync(join(packages.consumer, 'tsconfig.json'), JSON.stringify({ compilerOptions, include }));
}

function compile(): string {
  return spawnSync(process.execPath, [tsc, '-p', packages.consumer], { encoding: 'utf8' }).stdout;
}
