import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startEmbeddedPostgres } from '../src/index.ts';
import { freshFolder, postmasterPid, processesOf, query } from './owner.ts';

test('data survive a restart, and the directory is made when it is missing', async () => {
  const directory = join(freshFolder(), 'not', 'there', 'yet');
  const first = await startEmbeddedPostgres({ directory });
  await query(first.url, `create table kept as select 'still here' as what`);
  await first.stop();
  const second = await startEmbeddedPostgres({ directory });
  try {
    expect(await query(second.url, 'select what from kept')).toEqual([{ what: 'still here' }]);
  } finally {
    await second.stop();
  }
});

test('stop leaves no process behind, may be called twice, and says how the server ended', async () => {
  const directory = freshFolder();
  const server = await startEmbeddedPostgres({ directory });
  expect(processesOf(directory)).toContain(postmasterPid(directory));
  await Promise.all([server.stop(), server.stop()]);
  expect(processesOf(directory)).toEqual([]);
  expect(await server.exited).toEqual({ code: 0, signal: null });
});

test('it is PostgreSQL 18, listens on 127.0.0.1 alone, and wants the password that only its owner can read', async () => {
  const directory = freshFolder();
  const server = await startEmbeddedPostgres({ directory });
  try {
    const [facts] = await query(
      server.url,
      `select current_setting('server_version_num')::int / 10000 as major, current_setting('listen_addresses') as listens,
              current_setting('unix_socket_directories') as sockets, current_setting('max_connections')::int as connections`,
    );
    expect(facts).toEqual({ major: 18, listens: '127.0.0.1', sockets: '', connections: 100 });
    const wrong = new URL(server.url);
    expect(wrong.password).toBe(readFileSync(join(directory, 'password'), 'utf8').trim());
    expect(wrong.password.length).toBeGreaterThanOrEqual(24);
    expect(statSync(join(directory, 'password')).mode & 0o777).toBe(0o600);
    wrong.password = 'wrong';
    await expect(query(wrong.href, 'select 1')).rejects.toThrow('password authentication failed');
  } finally {
    await server.stop();
  }
});

test('two owners are refused, and the first is left in peace', async () => {
  const directory = freshFolder();
  const server = await startEmbeddedPostgres({ directory });
  try {
    await expect(startEmbeddedPostgres({ directory })).rejects.toMatchObject({
      code: 'embedded_directory_in_use',
      message: expect.stringContaining(`process ${process.pid}, which answers at 127.0.0.1:${server.port}`),
    });
    expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  } finally {
    await server.stop();
  }
});

test('a port that was asked for and is taken is named, and the directory is free again', async () => {
  const directory = freshFolder();
  const taker = createServer().listen(0, '127.0.0.1');
  await new Promise((listening) => taker.once('listening', listening));
  const { port } = taker.address() as AddressInfo;
  await expect(startEmbeddedPostgres({ directory, port })).rejects.toMatchObject({
    code: 'embedded_port_in_use',
    message: `port ${port} on 127.0.0.1 is in use by another program`,
  });
  taker.close();
  const server = await startEmbeddedPostgres({ directory, port });
  expect(server.port).toBe(port);
  await server.stop();
});

test('a start that was killed while it made its data begins again', async () => {
  const directory = freshFolder();
  mkdirSync(join(directory, 'data.new'));
  writeFileSync(join(directory, 'data.new', 'PG_VERSION'), 'half');
  const server = await startEmbeddedPostgres({ directory });
  await server.stop();
  expect(existsSync(join(directory, 'data.new'))).toBe(false);
});

test('data of another PostgreSQL are refused in one line and stay untouched', async () => {
  const directory = freshFolder();
  mkdirSync(join(directory, 'data'));
  writeFileSync(join(directory, 'data', 'PG_VERSION'), '12\n');
  await expect(startEmbeddedPostgres({ directory })).rejects.toMatchObject({
    code: 'embedded_data_version',
    message: expect.stringMatching(/^.*data of PostgreSQL 12, and this is PostgreSQL 18.*$/),
  });
  expect(readFileSync(join(directory, 'data', 'PG_VERSION'), 'utf8')).toBe('12\n');
});

test('a server that cannot start says why in one line', async () => {
  const directory = freshFolder();
  const settings = { shared_buffers: 'plenty' };
  await expect(startEmbeddedPostgres({ directory, settings })).rejects.toMatchObject({
    code: 'embedded_start_failed',
    message: expect.stringMatching(/^the embedded PostgreSQL did not start: .*shared_buffers.*$/),
  });
});
