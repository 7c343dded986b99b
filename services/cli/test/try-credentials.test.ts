/** `muster try` gives tools their credentials as a worker does, and neither prints nor keeps one. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { canarySecret, findCanary, findCanaryInFolder, spawnService } from '@muster/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const RUNBOOKS = fileURLToPath(new URL('../../worker/test/credential-runbooks.ts', import.meta.url));

const inVariable = canarySecret();
const inCommand = canarySecret();
const inFiles = { north: canarySecret(), south: canarySecret() };
const secrets = [inVariable, inCommand, ...Object.values(inFiles)];
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'muster-try-'));
  await mkdir(join(folder, 'credentials', 'hosts'), { recursive: true });
  await mkdir(join(folder, 'data'));
  for (const [site, secret] of Object.entries(inFiles)) {
    await writeFile(join(folder, 'credentials', 'hosts', site), `${secret}\n`);
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function tryRunbook(name: string, ...options: string[]) {
  const process = spawnService(MAIN, {
    args: ['try', name, ...options],
    cwd: folder,
    env: {
      MUSTER_RUNBOOKS: RUNBOOKS,
      MUSTER_DATA_DIR: join(folder, 'data'),
      MUSTER_LOG_LEVEL: 'trace',
      MUSTER_CREDENTIALS_DIR: join(folder, 'credentials'),
      MUSTER_CREDENTIALS_COMMANDS: 'printenv',
      MUSTER_CREDENTIAL_INVENTORY: inVariable,
      MUSTER_CREDENTIAL_SIGNATURE: inCommand,
    },
  });
  const { code } = await process.exited;
  const said = [...process.stdout, ...process.stderr].join('\n');
  for (const secret of secrets) expect(findCanary(secret, said)).toEqual([]);
  for (const secret of secrets) expect(await findCanaryInFolder(secret, join(folder, 'data'))).toEqual([]);
  return { code, stdout: process.stdout, stderr: process.stderr };
}

const MISSING =
  "the tool 'ask_host' needs the credential 'host-token' (a file), which is not there for the target 'gone'";

test.each([['--json'], ['--rows'], []])(
  'a fleet is asked target by target, whatever is printed: %s',
  async (...print) => {
    const { code, stdout } = await tryRunbook('guarded_hosts', ...print);
    expect(code).toBe(0);
    if (print[0] === '--rows') expect(stdout).toHaveLength(3);
    if (print[0] !== '--json') return;
    const { envelope } = JSON.parse(stdout.join('\n'));
    expect(envelope.result.subjects).toMatchObject({ total: 8, ok: 3, not_checked: 1, cannot_cover: 4 });
    expect(JSON.stringify(envelope.af_coverage.cannot_cover)).toContain(MISSING);
  },
);

test('a bounded run gets each target’s own', async () => {
  const { code, stdout } = await tryRunbook('guarded_list', '--rows', '--input', 'sites=["north"]');
  expect(code).toBe(0);
  expect(stdout.map((line) => JSON.parse(line).subject)).toEqual(['host-0a', 'host-0b']);
});

test.each([
  ['guarded_list', MISSING, ['--input', 'sites=["gone"]']],
  [
    'locked_plan',
    "the tool 'list_locked_hosts' needs the credential 'master-key' (environment variable MUSTER_CREDENTIAL_MASTER_KEY), which is not there",
    [],
  ],
])('%s without its credential fails by the name of what is missing', async (name, missing, options) => {
  const { code, stderr } = await tryRunbook(name, '--rows', ...options);
  expect(code).toBe(1);
  expect(stderr.join('\n')).toContain(`the run failed: ${missing} [tool_needs_unresolved]`);
});
