import { spawnSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { acquireInstanceLock, identifyProcess } from '../src/index.ts';
import { freshFolder } from './owner.ts';

test('a second owner is refused with the pid and the announced address of the first', async () => {
  const folder = freshFolder();
  const lock = await acquireInstanceLock(folder);
  await lock.announce('http://127.0.0.1:7000');
  await expect(acquireInstanceLock(folder)).rejects.toMatchObject({
    code: 'embedded_directory_in_use',
    message: `${folder} is in use by process ${process.pid}, which answers at http://127.0.0.1:7000; stop that one first or choose another directory`,
  });
  await lock.release();
});

test('a released folder is free, and a late second release does not take it from the next owner', async () => {
  const folder = freshFolder();
  const first = await acquireInstanceLock(folder);
  await first.release();
  const second = await acquireInstanceLock(folder);
  await first.release();
  await expect(acquireInstanceLock(folder)).rejects.toMatchObject({ code: 'embedded_directory_in_use' });
  await second.release();
  expect(readdirSync(folder)).toEqual([]);
});

test('the lock of a dead process is taken over', async () => {
  const folder = freshFolder();
  const dead = spawnSync(process.execPath, ['--version']).pid;
  writeFileSync(join(folder, 'instance.lock'), JSON.stringify({ token: 'old', pid: dead, started: '1' }));
  const lock = await acquireInstanceLock(folder);
  await lock.release();
});

test('a pid that lives again as another process holds nothing', async () => {
  const folder = freshFolder();
  expect(identifyProcess(process.pid)).toBeDefined();
  writeFileSync(join(folder, 'instance.lock'), JSON.stringify({ token: 'old', pid: process.pid, started: 'earlier' }));
  const lock = await acquireInstanceLock(folder);
  await lock.release();
});

test('a lock file that makes no sense does not lock a folder for ever', async () => {
  const folder = freshFolder();
  writeFileSync(join(folder, 'instance.lock'), 'null');
  const lock = await acquireInstanceLock(folder);
  await lock.release();
});

test('of many that ask at once for a folder with a stale lock, one gets it', async () => {
  const folder = freshFolder();
  writeFileSync(join(folder, 'instance.lock'), JSON.stringify({ token: 'old', pid: process.pid, started: 'earlier' }));
  const asked = await Promise.allSettled(Array.from({ length: 20 }, () => acquireInstanceLock(folder)));
  expect(asked.filter((one) => one.status === 'fulfilled')).toHaveLength(1);
});
