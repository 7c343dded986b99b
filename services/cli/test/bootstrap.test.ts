/**
 * `scripts/bootstrap.mjs`, what every npm script starts with: when it installs, and that the program behind it is started,
 * heard and ended as if it stood alone. The `npm` here writes down that it was called and lays a finished install.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { identifyProcess, isAlive } from '@muster/embedded';
import { waitFor } from '@muster/testkit';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

const BOOTSTRAP = fileURLToPath(new URL('../../../scripts/bootstrap.mjs', import.meta.url));
const LOCK = { packages: { '': {}, 'node_modules/node': { version: '1.0.0', integrity: 'sha512-a' } } };

let folder: string;
let children: ChildProcess[];
beforeEach(async () => {
  children = [];
  folder = await mkdtemp(join(tmpdir(), 'muster-bootstrap-'));
  await mkdir(join(folder, 'scripts'));
  await mkdir(join(folder, 'bin'));
  await copyFile(BOOTSTRAP, join(folder, 'scripts', 'bootstrap.mjs'));
  await write('package-lock.json', JSON.stringify(LOCK));
  await write('program.mjs', 'console.log(JSON.stringify(process.argv.slice(2))); process.exit(7);');
  await fakeNpm('cp package-lock.json node_modules/.package-lock.json');
});
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

const write = (name: string, text: string) => writeFile(join(folder, name), text);

/** An npm that notes its arguments, lays the project's Node and then does `last`. */
async function fakeNpm(last: string): Promise<void> {
  const npm = join(folder, 'bin', 'npm');
  const lines = [
    '#!/bin/sh',
    'echo "$@" >> npm-calls',
    'echo "npm says something"',
    'mkdir -p node_modules/node/bin',
    `ln -sf "${process.execPath}" node_modules/node/bin/node`,
    last,
  ];
  await writeFile(npm, `${lines.join('\n')}\n`);
  await chmod(npm, 0o755);
}

async function layInstall(lock: object = LOCK): Promise<void> {
  await mkdir(join(folder, 'node_modules', 'node', 'bin'), { recursive: true });
  await symlink(process.execPath, join(folder, 'node_modules', 'node', 'bin', 'node'));
  await write('node_modules/.package-lock.json', JSON.stringify(lock));
}

const npmCalls = async () =>
  (await readFile(join(folder, 'npm-calls'), 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');

interface Started {
  readonly child: ChildProcess;
  readonly said: { out: string; err: string };
  readonly ended: Promise<{ code: number | null; out: string; err: string }>;
}

function bootstrap(args: readonly string[], options: { node?: string[]; env?: NodeJS.ProcessEnv } = {}): Started {
  const { npm_lifecycle_event: _own, ...env } = process.env;
  const child = spawn(process.execPath, [...(options.node ?? []), join(folder, 'scripts', 'bootstrap.mjs'), ...args], {
    env: { ...env, PATH: `${join(folder, 'bin')}:${process.env.PATH}`, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  const said = { out: '', err: '' };
  child.stdout?.on('data', (text) => {
    said.out += text;
  });
  child.stderr?.on('data', (text) => {
    said.err += text;
  });
  return { child, said, ended: new Promise((resolve) => child.on('close', (code) => resolve({ code, ...said }))) };
}

describe('installing', () => {
  test('a fresh clone is installed once, and then the program runs; standard output is the program’s alone', async () => {
    const first = await bootstrap(['program.mjs', 'a b', '--x']).ended;
    expect(first.out).toBe('["a b","--x"]\n');
    expect(first.err).toMatch(/^Installing dependencies/);
    expect(first.code).toBe(7);
    const second = await bootstrap(['program.mjs']).ended;
    expect([second.code, second.out, second.err]).toEqual([7, '[]\n', '']);
    expect(await npmCalls()).toHaveLength(1);
  });

  test('production settings of the surroundings leave nothing out', async () => {
    await bootstrap(['program.mjs'], { env: { NODE_ENV: 'production' } }).ended;
    expect((await npmCalls())[0]).toMatch(/^ci --include=dev --include=optional /);
  });

  test('what was installed by hand for this lock file is good; packages of other platforms may be missing', async () => {
    const other = { version: '2.0.0', integrity: 'sha512-b', optional: true };
    await write('package-lock.json', JSON.stringify({ packages: { ...LOCK.packages, 'node_modules/other': other } }));
    await layInstall();
    expect((await bootstrap(['program.mjs']).ended).code).toBe(7);
    expect(await npmCalls()).toEqual([]);
  });

  test.each([
    ['a package of the lock file is missing', { packages: {} }],
    [
      'a package has another version',
      { packages: { 'node_modules/node': { version: '0.9.0', integrity: 'sha512-a' } } },
    ],
    ['an install was interrupted', undefined],
  ])('it installs again when %s', async (_what, present) => {
    await layInstall(present);
    if (present === undefined) await rm(join(folder, 'node_modules', '.package-lock.json'));
    expect((await bootstrap(['program.mjs']).ended).code).toBe(7);
    expect(await npmCalls()).toHaveLength(1);
  });

  test('an install that fails starts nothing, says so, and the next start tries again', async () => {
    await fakeNpm('exit 3');
    const { code, out, err } = await bootstrap(['program.mjs']).ended;
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(/npm ci failed \(exit 3\); nothing was started\.\n$/);
    await fakeNpm('cp package-lock.json node_modules/.package-lock.json');
    expect((await bootstrap(['program.mjs']).ended).code).toBe(7);
  });

  test('an npm that runs no install scripts is named as the cause', async () => {
    await fakeNpm('rm node_modules/node/bin/node');
    const { code, err } = await bootstrap(['program.mjs']).ended;
    expect(err).toMatch(/npm ci --ignore-scripts=false/);
    expect(code).toBe(1);
  });

  test('two starts in a fresh clone install once; the second waits for the first', async () => {
    await fakeNpm('while [ ! -e go ]; do sleep 0.1; done; cp package-lock.json node_modules/.package-lock.json');
    const first = bootstrap(['program.mjs', '1']);
    await waitFor(npmCalls, (calls) => calls.length === 1, { what: 'the first install' });
    const second = bootstrap(['program.mjs', '2']);
    await waitFor(
      () => second.said.err,
      (err) => err.includes(`(process ${first.child.pid}); waiting`),
      { what: 'the second start to wait' },
    );
    await write('go', '');
    expect([(await first.ended).out, (await second.ended).out]).toEqual(['["1"]\n', '["2"]\n']);
    expect(await npmCalls()).toHaveLength(1);
  });

  test('the lock of a start that was killed is taken over', async () => {
    const dead = spawn(process.execPath, ['-e', '']);
    await new Promise((resolve) => dead.on('close', resolve));
    await write('.installing', String(dead.pid));
    expect((await bootstrap(['program.mjs']).ended).code).toBe(7);
    expect(await npmCalls()).toHaveLength(1);
  });

  test('a stop in the middle of an install ends it soon, starts nothing, and gives the code of the signal', async () => {
    await fakeNpm('trap "" TERM; exec sleep 600');
    const { child, ended } = bootstrap(['program.mjs']);
    await waitFor(npmCalls, (calls) => calls.length === 1, { what: 'the install' });
    child.kill('SIGTERM');
    const { code, out, err } = await ended;
    expect([code, out]).toEqual([143, '']);
    expect(err).toMatch(/interrupted; the next start begins it again/);
  });
});

describe('the program', () => {
  const WAITING = `process.on('SIGTERM', () => { console.log('told'); process.exit(5); });
    setInterval(() => {}, 1000); console.log(process.pid);`;

  test('a signal is passed on, and its exit code comes back', async () => {
    await layInstall();
    await write('program.mjs', WAITING);
    const { child, said, ended } = bootstrap(['program.mjs']);
    await waitFor(
      () => said.out,
      (out) => out !== '',
      { what: 'the program' },
    );
    child.kill('SIGTERM');
    const { code, out } = await ended;
    expect(out).toMatch(/told\n$/);
    expect(code).toBe(5);
  });

  test('when the npm that started it is gone without a word, the program is told to end', async () => {
    await layInstall();
    await write('program.mjs', WAITING);
    const npm = spawn('sh', ['-c', '"$0" scripts/bootstrap.mjs program.mjs; :', process.execPath], {
      cwd: folder,
      env: { ...process.env, npm_lifecycle_event: 'start' },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    children.push(npm);
    let out = '';
    npm.stdout.on('data', (text) => {
      out += text;
    });
    await waitFor(
      () => out,
      (said) => said !== '',
      { what: 'the program' },
    );
    const program = identifyProcess(Number(out));
    if (program === undefined) throw new Error('the program has no identity');
    npm.kill('SIGKILL');
    await waitFor(
      () => isAlive(program),
      (alive) => !alive,
      { what: 'the end of the program' },
    );
    await waitFor(
      () => out,
      (said) => said.endsWith('told\n'),
      { what: 'its last word' },
    );
  });

  test('a Node that is too old is named, in one line', async () => {
    const old = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.8' } })";
    const { code, err } = await bootstrap(['program.mjs'], { node: ['--import', `data:text/javascript,${old}`] }).ended;
    expect(err).toBe('Muster needs Node 20 or newer to start; this is Node 18.20.8.\n');
    expect(code).toBe(1);
    expect(await npmCalls()).toEqual([]);
  });
});
