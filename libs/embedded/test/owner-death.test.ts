import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startEmbeddedPostgres } from '../src/index.ts';
import {
  childrenOf,
  freshFolder,
  killOwner,
  postmasterPid,
  processesOf,
  query,
  serverEnded,
  startOwner,
} from './owner.ts';

test('when its owner is killed, PostgreSQL ends by itself, and the next start finds the data', async () => {
  const directory = freshFolder();
  const owner = await startOwner(directory);
  await query(owner.url, 'create table kept as select 42 as answer');
  await killOwner(owner);
  await serverEnded(directory);
  await expectKept(directory);
});

test('the next start may come at once after the owner was killed', async () => {
  const directory = freshFolder();
  const owner = await startOwner(directory);
  await query(owner.url, 'create table kept as select 42 as answer');
  await killOwner(owner);
  await expectKept(directory);
});

test('a PostgreSQL that outlived owner and watchdog is stopped by the next start', async () => {
  const directory = freshFolder();
  const owner = await startOwner(directory);
  await query(owner.url, 'create table kept as select 42 as answer');
  const orphan = postmasterPid(directory)!;
  for (const watchdog of childrenOf(owner.child.pid!, 'muster-watchdog')) process.kill(watchdog, 'SIGKILL');
  await killOwner(owner);
  expect(processesOf(directory)).toContain(orphan);
  await expectKept(directory);
  expect(processesOf(directory)).toEqual([]);
});

test('owner and PostgreSQL killed together leave nothing that a start cannot repair', async () => {
  const directory = freshFolder();
  const owner = await startOwner(directory);
  await query(owner.url, 'create table kept as select 42 as answer');
  const server = postmasterPid(directory)!;
  process.kill(server, 'SIGKILL');
  await killOwner(owner);
  await expectKept(directory);
});

test('a pid file that names a living stranger stops nobody and does not prevent a start', async () => {
  const directory = freshFolder();
  const owner = await startOwner(directory);
  await query(owner.url, 'create table kept as select 42 as answer');
  owner.child.send({ stop: true });
  await once(owner.child, 'exit');
  const pidFile = [process.pid, join(directory, 'data'), 0, 1, '', '127.0.0.1', '0 0', 'ready'].join('\n');
  writeFileSync(join(directory, 'data', 'postmaster.pid'), pidFile);
  await expectKept(directory);
});

test('Ctrl-C reaches the owner and leaves PostgreSQL running until the owner stops it', async () => {
  const directory = freshFolder();
  const owner = await startOwner(directory);
  const interrupted = once(owner.child, 'message');
  process.kill(-owner.child.pid!, 'SIGINT');
  expect(await interrupted).toEqual([{ interrupted: true }, undefined]);
  expect(await query(owner.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  owner.child.send({ stop: true });
  await once(owner.child, 'exit');
  expect(processesOf(directory)).toEqual([]);
});

async function expectKept(directory: string): Promise<void> {
  const server = await startEmbeddedPostgres({ directory });
  try {
    expect(await query(server.url, 'select answer from kept')).toEqual([{ answer: 42 }]);
  } finally {
    await server.stop();
  }
}
