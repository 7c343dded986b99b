/** Where a declared credential may lie, and what comes of it when it does not (see the head of `credential-places.ts`). */
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CredentialNeed } from '@muster/envelope';
import { canarySecret, findCanary, waitFor } from '@muster/testkit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CredentialError, type CredentialResolverOptions, credentialResolver, readConfig } from '../src/index.ts';

const NODE = process.execPath;
const secret = canarySecret();
let folder: string;
let directory: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'muster-credentials-'));
  directory = join(folder, 'credentials');
  await mkdir(join(directory, 'kube'), { recursive: true });
  await mkdir(join(directory, '..data'));
  await Promise.all([
    writeFile(join(directory, 'token'), `${secret}\r\n\n`),
    writeFile(join(directory, 'pem'), `-----BEGIN-----\n${secret}\n-----END-----\n`),
    writeFile(join(directory, 'kube', 'north'), 'of north'),
    writeFile(join(directory, 'kube', 'North.eu:6443@x_1'), 'of another'),
    writeFile(join(directory, '..data', 'mounted'), 'of a mount'),
    writeFile(join(directory, 'empty'), '\n\n'),
    writeFile(join(directory, 'bytes'), Buffer.of(0xff, 0xfe, 0x41)),
    writeFile(join(directory, 'nul'), 'a\0b'),
    writeFile(join(directory, 'large'), 'x'.repeat(64 * 1024)),
    writeFile(join(directory, 'too-large'), 'x'.repeat(64 * 1024 + 1)),
    writeFile(join(folder, 'outside'), secret),
    writeFile(join(folder, 'credentials-of-others'), secret),
  ]);
  await symlink(join('..data', 'mounted'), join(directory, 'mounted'));
  await symlink(join(folder, 'outside'), join(directory, 'leading-out'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

type Env = Readonly<Record<string, string>>;

function resolver(env: Env = {}, over: Partial<CredentialResolverOptions> = {}) {
  const own = { MUSTER_CREDENTIALS_DIR: directory, MUSTER_CREDENTIALS_COMMANDS: `${NODE}, no-such-program,printenv` };
  const all = { PATH: process.env.PATH as string, ...own, ...env };
  return credentialResolver({ config: readConfig(all), env: all, ...over });
}

async function read(need: Omit<CredentialNeed, 'credential'>, target?: string, env?: Env): Promise<string | undefined> {
  const request = { tool: 'a_tool', ...(target !== undefined && { target }) };
  return (await resolver(env)({ credential: 'token', ...need }, request))?.reveal();
}

async function codeOf(reading: Promise<unknown>): Promise<string> {
  const error = await reading.then(
    (value) => value,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(CredentialError);
  expect(findCanary(secret, error)).toEqual([]);
  expect((error as Error).message).not.toMatch(/\n|muster-credentials-/);
  return (error as CredentialError).code;
}

const script = (code: string, ...args: string[]) => ({ from: { command: [NODE, '-e', code, ...args] as const } });

describe('an environment variable', () => {
  test('is read as it is', async () => {
    expect(await read({ from: { env: 'MUSTER_CREDENTIAL_X' } }, undefined, { MUSTER_CREDENTIAL_X: ' a b ' })).toBe(
      ' a b ',
    );
  });

  test.each([{}, { MUSTER_CREDENTIAL_X: '' }])('that is not set or empty is not there', async (env) => {
    expect(await read({ from: { env: 'MUSTER_CREDENTIAL_X' } }, undefined, env as Env)).toBeUndefined();
  });

  test.each(['DATABASE_URL', 'MUSTER_SECRET_KEY', 'S3_SECRET_ACCESS_KEY', 'PATH', 'MUSTER_CREDENTIALS_DIR', ''])(
    'without the prefix is not read: %s',
    async (name) => {
      expect(await codeOf(read({ from: { env: name } }))).toBe('credential_env_not_allowed');
    },
  );

  test('is allowed by another prefix instead, and then not by the old one', async () => {
    const env = { MUSTER_CREDENTIALS_ENV_PREFIX: 'ACME_', ACME_KEY: 'k' };
    expect(await read({ from: { env: 'ACME_KEY' } }, undefined, env)).toBe('k');
    expect(await codeOf(read({ from: { env: 'MUSTER_CREDENTIAL_X' } }, undefined, env))).toBe(
      'credential_env_not_allowed',
    );
  });

  test('of a target has its name in upper case, with _ for -', async () => {
    const need = { from: { env: 'MUSTER_CREDENTIAL_KUBE__{target}' }, perTarget: true };
    expect(await read(need, 'north-1', { MUSTER_CREDENTIAL_KUBE__NORTH_1: 'n' })).toBe('n');
  });

  test.each(['north_1', 'North-1', 'north.1', 'north--1', '-north', 'x'.repeat(300).concat('/'), '', '$(id)'])(
    'of a target that another one could be spelled like is not read: %s',
    async (target) => {
      const need = { from: { env: 'MUSTER_CREDENTIAL_KUBE__{target}' }, perTarget: true };
      expect(await codeOf(read(need, target, { MUSTER_CREDENTIAL_KUBE__NORTH_1: 'n' }))).toBe(
        'credential_target_unfit',
      );
    },
  );
});

describe('a file', () => {
  test('is read without the line ends behind it', async () => {
    expect(await read({ from: { file: 'token' } })).toBe(secret);
    expect(await read({ from: { file: 'pem' } })).toBe(`-----BEGIN-----\n${secret}\n-----END-----`);
  });

  test('may be named by its whole path, and may be a link within the folder', async () => {
    expect(await read({ from: { file: join(directory, 'token') } })).toBe(secret);
    expect(await read({ from: { file: 'mounted' } })).toBe('of a mount');
  });

  test.each(['nowhere', 'token/below', 'no/folder'])('that is not there is not there: %s', async (file) => {
    expect(await read({ from: { file } })).toBeUndefined();
  });

  test('is not there when the folder is not', async () => {
    const env = { MUSTER_CREDENTIALS_DIR: join(folder, 'nowhere') };
    expect(await read({ from: { file: 'token' } }, undefined, env)).toBeUndefined();
  });

  test.each(['../outside', '/etc/passwd', '/proc/self/environ', '../credentials-of-others', '.', 'kube/../..'])(
    'outside of the folder is not read: %s',
    async (file) => {
      expect(await codeOf(read({ from: { file } }))).toBe('credential_file_not_allowed');
    },
  );

  test('that a link leads to from within is not read when it lies outside', async () => {
    expect(await codeOf(read({ from: { file: 'leading-out' } }))).toBe('credential_file_not_allowed');
  });

  test.each([
    ['kube', 'credential_unreadable'],
    ['empty', 'credential_empty'],
    ['bytes', 'credential_not_text'],
    ['nul', 'credential_not_text'],
    ['too-large', 'credential_too_large'],
    ['tok\0en', 'credential_unreadable'],
  ])('that is no credential is refused by its code: %j', async (file, code) => {
    expect(await codeOf(read({ from: { file } }))).toBe(code);
  });

  test('is read up to its largest size', async () => {
    expect(await read({ from: { file: 'large' } })).toHaveLength(64 * 1024);
  });

  test('is read for the target, by its name as it is', async () => {
    const need = { from: { file: 'kube/{target}' }, perTarget: true };
    expect(await read(need, 'north')).toBe('of north');
    expect(await read(need, 'North.eu:6443@x_1')).toBe('of another');
    expect(await read(need, 'south')).toBeUndefined();
  });

  test.each(['../token', '..', '.', '/token', 'a/b', '-rf', 'a b', 'a\nb', 'a\0', '~', '$HOME', '*', 'å', ''])(
    'is not looked for where the target’s name is no name of a file: %j',
    async (target) => {
      expect(await codeOf(read({ from: { file: 'kube/{target}' }, perTarget: true }, target))).toBe(
        'credential_target_unfit',
      );
    },
  );
});

describe('a command', () => {
  test('is read from what it prints, and the target is an argument of it', async () => {
    const need = { ...script('console.log(process.argv[1])', 'for-{target}'), perTarget: true };
    expect(await read(need, 'north')).toBe('for-north');
  });

  test('runs without a shell: what a shell would expand stays as it is', async () => {
    expect(await read(script('process.stdout.write(process.argv[1])', '$(id); `id` $HOME *'))).toBe(
      '$(id); `id` $HOME *',
    );
  });

  test.each(['a; id', '$(id)', '`id`', "'", '"', 'a|b', 'a&b', '--help', 'a\\b', 'a>b', 'a\nb', '{target}'])(
    'is not run for a target that a shell would take for more than a word: %j',
    async (target) => {
      const need = { ...script('console.log(1)', '{target}'), perTarget: true };
      expect(await codeOf(read(need, target))).toBe('credential_target_unfit');
    },
  );

  test.each(['sh', 'node', '', './printenv'])('that is not listed is not run: %j', async (program) => {
    expect(await codeOf(read({ from: { command: [program, '-c', 'id'] } }))).toBe('credential_command_not_allowed');
  });

  test('none is listed unless somebody does', async () => {
    const env = { MUSTER_CREDENTIALS_COMMANDS: '' };
    expect(await codeOf(read(script('console.log(1)'), undefined, env))).toBe('credential_command_not_allowed');
  });

  test('sees none of our settings, and what credentials may lie in', async () => {
    const env = {
      DATABASE_URL: 'postgres://ann:geheim@db/x',
      PGPASSWORD: secret,
      MUSTER_SECRET_KEY: Buffer.alloc(32).toString('base64'),
      MUSTER_CREDENTIAL_X: 'x',
    };
    const seen = await read(script('console.log(Object.keys(process.env).sort().join(" "))'), undefined, env);
    expect(seen).toMatch(/^(HOME |LANG |LC_ALL |LOGNAME )*MUSTER_CREDENTIAL_X PATH\b/);
    expect(seen).not.toMatch(/DATABASE_URL|PGPASSWORD|MUSTER_SECRET_KEY|MUSTER_CREDENTIALS/);
  });

  test('can ask nobody: it has no input and no terminal', async () => {
    const code = `
      let terminal = 'a terminal';
      try { require('node:fs').openSync('/dev/tty', 'r+'); } catch { terminal = 'none'; }
      process.stdin.resume().on('end', () => console.log(terminal, process.stdin.isTTY === true));`;
    expect(await read(script(code))).toBe('none false');
  });

  test.each([
    ['fails', script(`console.log('${secret}'); console.error('${secret}'); process.exit(3)`)],
    ['is killed', script(`process.kill(process.pid, 'SIGKILL')`)],
    ['does not exist', { from: { command: ['no-such-program'] as const } }],
    ['cannot have its argument', script('', 'a\0b')],
  ])('that %s is told by a code, without what it said', async (_what, need) => {
    expect(await codeOf(read(need))).toBe('credential_command_failed');
  });

  test.each([
    ['prints nothing', 'credential_empty', ''],
    ['prints no text', 'credential_not_text', 'process.stdout.write(Buffer.of(255))'],
    [
      'never stops printing',
      'credential_too_large',
      `const go = () => process.stdout.write('x'.repeat(65536), go); go()`,
    ],
  ])('that %s is refused', async (_what, code, source) => {
    expect(await codeOf(read(script(source)))).toBe(code);
  });

  test('that does not end is ended, with what it started', async () => {
    const pids = join(folder, 'pids');
    const child = 'setInterval(() => {}, 1000)';
    const source = `
      const child = require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(child)}], { stdio: 'inherit' });
      require('node:fs').writeFileSync(${JSON.stringify(pids)}, [process.pid, child.pid].join(' '));
      ${child}`;
    const need = { credential: 'token', ...script(source) };
    const leave = new AbortController();
    const reading = resolver()(need, { tool: 'a_tool', signal: leave.signal });
    const refused = expect(reading).rejects.toBe('enough');
    const started = await waitFor(() => readFile(pids, 'utf8'), Boolean, { what: 'the command' });
    leave.abort('enough');
    await refused;
    for (const pid of started.split(' ').map(Number)) await waitFor(() => !isRunning(pid), Boolean, { what: `${pid}` });
    const slow = resolver({}, { timeoutMs: 50 })({ credential: 'token', ...script(child) }, { tool: 'a_tool' });
    expect(await codeOf(Promise.resolve(slow))).toBe('credential_timeout');
  });
});

describe('a credential without a place', () => {
  test('is known by its name: the variable first, then the file', async () => {
    expect(await read({})).toBe(secret);
    expect(await read({}, undefined, { MUSTER_CREDENTIAL_TOKEN: 'v' })).toBe('v');
  });

  test('is known by its name and the target’s', async () => {
    const need = { credential: 'kube', perTarget: true };
    const env = { MUSTER_CREDENTIAL_KUBE__SOUTH_2: 'of south' };
    const values = ['north', 'south-2', 'North.eu:6443@x_1', 'south'].map(async (target) =>
      (await resolver(env)(need, { tool: 'a_tool', target }))?.reveal(),
    );
    expect(await Promise.all(values)).toEqual(['of north', 'of south', 'of another', undefined]);
  });

  test('no target spells another credential', async () => {
    const env = { MUSTER_CREDENTIAL_KUBE__A__B: 'other', MUSTER_CREDENTIAL_KUBE_ADMIN: 'other' };
    for (const target of ['a--b', 'a__b', 'a-_b']) {
      const reading = resolver(env)({ credential: 'kube', perTarget: true }, { tool: 'a_tool', target });
      expect((await reading)?.reveal()).toBeUndefined();
    }
  });
});

test.each<[string, CredentialNeed]>([
  ['a name that is none', { credential: '../token' }],
  ['a target’s place that is the same for all', { credential: 'x', from: { file: 'token' }, perTarget: true }],
  ['a place for targets without perTarget', { credential: 'x', from: { file: 'kube/{target}' } }],
  ['a program by target', { credential: 'x', from: { command: ['{target}'] }, perTarget: true }],
])('a reference that names no place is refused: %s', async (_what, need) => {
  expect(await codeOf(Promise.resolve(resolver()(need, { tool: 'a_tool', target: 'north' })))).toBe(
    'credential_reference_invalid',
  );
});

test('whatever a target is called, no file outside of its folder is read', async () => {
  const resolve = resolver();
  const need = { credential: 'token', from: { file: 'kube/{target}' }, perTarget: true };
  const parts = fc.constantFrom('..', '/', '.', 'north', 'token', '\\', '%2e', '\0', '~', ' ');
  const targets = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(parts, { maxLength: 6 }).map((all) => all.join('')),
  );
  await fc.assert(
    fc.asyncProperty(targets, async (target) => {
      const found = await Promise.resolve(resolve(need, { tool: 'a_tool', target })).catch((error) => {
        expect(error).toBeInstanceOf(CredentialError);
      });
      expect([undefined, 'of north', 'of another']).toContain(found?.reveal());
    }),
  );
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
