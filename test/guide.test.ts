import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { consoleScripts, fileBlocks, withOutputs } from './guide/guide-blocks.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const path = join(root, 'docs/guides/write-a-runbook.md');
const guide = readFileSync(path, 'utf8');
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'muster-guide-'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const { file, text } of fileBlocks(guide)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('every file of the guide is free of type errors', () => {
  const config = { extends: join(root, 'tsconfig.base.json'), include: ['my-runbooks'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const { stdout } = spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder], {
    encoding: 'utf8',
  });
  expect(stdout).toBe('');
});

// `vitest run test/guide.test.ts -u` writes what is really printed into the guide.
test('every command of the guide prints what the guide shows', async () => {
  // A block may set variables for the ones after it, as a reader's shell would keep them.
  const mark = '~~ end of block ~~';
  const script = consoleScripts(guide)
    .flatMap((block) => [block, `echo '${mark}'`])
    .join('\n');
  const outputs = run(script).split(`${mark}\n`).slice(0, -1);
  await expect(withOutputs(guide, outputs.map(steady))).toMatchFileSnapshot(path);
});

/** Runs commands as a reader would in a clone: the clone's `npm run -s muster --` is the command line on this Node. */
function run(script: string): string {
  const cli = join(root, 'services/cli/src/main.ts');
  const npm = `npm() { [ "$1 $2 $3 $4" = "run -s muster --" ] && shift 4 && "$NODE" "${cli}" "$@"; }`;
  const env = { PATH: process.env.PATH, HOME: folder, NODE: process.execPath };
  return execFileSync('bash', ['-e', '-c', `exec 2>&1\n${npm}\n${script}`], { cwd: folder, env, encoding: 'utf8' });
}

function steady(output: string): string {
  return output.trimEnd().replaceAll(/art_\w{22}/g, 'art_4pYb0kTqZ2mNcX7wLr9sHd');
}
