import { createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as errors from '../src/errors.ts';
import { listenForHints, openDatabase, RESULTS_ERROR_CODES } from '../src/index.ts';
import type { Store } from './store.ts';
import { newTenant, openStore } from './store.ts';

let store: Store;
beforeAll(async () => {
  store = await openStore();
});
afterAll(() => store.close());

const SECRET = 'canary-51f0';

const thrownBy = (promise: Promise<unknown>): Promise<Error & { code?: string }> =>
  promise.then(
    () => expect.unreachable('it should have been refused'),
    (error) => error,
  );

const listening = async (onSocket: (socket: Socket) => void): Promise<{ server: Server; port: number }> => {
  const server = createServer(onSocket);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, port: (server.address() as { port: number }).port };
};

test('a store that refuses connections is unavailable, by host and port and without credentials', async () => {
  const { server, port } = await listening(() => {});
  await new Promise((resolve) => server.close(resolve));
  const db = openDatabase({ url: `postgres://muster:${SECRET}@127.0.0.1:${port}/muster` });
  for (const asked of [() => db.query('select 1'), () => db.transaction(async () => {}), () => db.ping(1_000)]) {
    const error = await thrownBy(asked());
    expect(error).toMatchObject({ code: 'results_unavailable' });
    expect(error.message).toContain(`127.0.0.1:${port}`);
    expect(`${error.message}${error.stack}${JSON.stringify(error)}`).not.toContain(SECRET);
  }
  await db.close();
});

test('a store that accepts a connection and says nothing is unavailable after its time', async () => {
  const sockets: Socket[] = [];
  const { server, port } = await listening((socket) => sockets.push(socket));
  const db = openDatabase({ url: `postgres://muster@127.0.0.1:${port}/muster`, connectTimeoutMs: 100 });
  expect(await thrownBy(db.query('select 1'))).toMatchObject({ code: 'results_unavailable' });
  expect(await thrownBy(db.ping(100))).toMatchObject({ code: 'results_unavailable' });
  await db.close();
  for (const socket of sockets) socket.destroy();
  server.close();
});

test('a store without the database of that name is unavailable', async () => {
  const url = new URL(store.url);
  url.pathname = '/no_such_database';
  const db = openDatabase({ url: url.href });
  expect(await thrownBy(db.query('select 1'))).toMatchObject({ code: 'results_unavailable' });
  await db.close();
});

test('a connection that is killed while idle or in a transaction costs its statement and not the process', async () => {
  const told = Promise.withResolvers<unknown>();
  const db = openDatabase({ url: store.url, maxConnections: 1, onError: told.resolve });
  const pid = async () => (await db.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid;
  await store.db.query('select pg_terminate_backend($1)', [await pid()]);
  expect(await told.promise).toMatchObject({ code: 'results_unavailable' });
  const broken = db.transaction(async (tx) => {
    const { rows } = await tx.query<{ pid: number }>('select pg_backend_pid() as pid');
    await store.db.query('select pg_terminate_backend($1)', [rows[0]!.pid]);
    await tx.query('select 1');
  });
  expect(await thrownBy(broken)).toMatchObject({ code: 'results_unavailable' });
  expect(await pid()).toBeGreaterThan(0);
  await db.close();
});

test('a refused statement names its rule and none of its values', async () => {
  const owner = await newTenant(store.db);
  const error = await thrownBy(
    store.db.query(
      `insert into muster.sessions (id, tenant, owner_key_id, name, created_at) values ($1, $2, $3, $4, now())`,
      [owner.sessionId, owner.tenant, owner.keyId, SECRET],
    ),
  );
  expect(error).toMatchObject({ code: 'statement_refused', sqlState: '23505', constraint: 'sessions_pkey' });
  const malformed = await thrownBy(store.db.query('select $1::uuid', [SECRET]));
  for (const thrown of [error, malformed]) {
    expect(`${thrown.message}${JSON.stringify(thrown)}${String(thrown.cause)}`).not.toContain(SECRET);
    expect(thrown.message).not.toContain('\n');
  }
});

test('a refused statement costs nothing but itself: its connection is used again', async () => {
  const db = openDatabase({ url: store.url, maxConnections: 1 });
  const pid = async () => (await db.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!.pid;
  const before = await pid();
  await thrownBy(db.query('select 1 / 0'));
  await thrownBy(db.transaction((tx) => tx.query('select 1 / 0')));
  expect(await pid()).toBe(before);
  await db.close();
});

test('a statement that outlives its time is given up, and the store works on', async () => {
  const db = openDatabase({ url: store.url, maxConnections: 1, statementTimeoutMs: 50 });
  expect(await thrownBy(db.query('select pg_sleep(30)'))).toMatchObject({ sqlState: '57014' });
  expect((await db.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  await db.close();
});

test('a transaction that throws is undone whole, also what joined it', async () => {
  await store.db.query('create table if not exists public.marks (mark int)');
  const undone = store.db.transaction(async (tx) => {
    await tx.query('insert into public.marks values (1)');
    await tx.transaction((inner) => inner.query('insert into public.marks values (2)'));
    throw new Error('on purpose');
  });
  await expect(undone).rejects.toThrow('on purpose');
  expect((await store.db.query('select mark from public.marks')).rows).toEqual([]);
});

test('two transactions that block each other are both carried through', async () => {
  await store.db.query('create table public.pairs (id int primary key, n int not null)');
  await store.db.query('insert into public.pairs values (1, 0), (2, 0)');
  const both = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const raise = (first: number, second: number, mine: number) =>
    store.db.transaction(async (tx) => {
      await tx.query('update public.pairs set n = n + 1 where id = $1', [first]);
      both[mine]!.resolve();
      await Promise.all(both.map((lock) => lock.promise));
      await tx.query('update public.pairs set n = n + 1 where id = $1', [second]);
    });
  await Promise.all([raise(1, 2, 0), raise(2, 1, 1)]);
  expect((await store.db.query('select n from public.pairs order by id')).rows).toEqual([{ n: 2 }, { n: 2 }]);
});

test('whole numbers come back as numbers, and json with its keys in order', async () => {
  const { rows } = await store.db.query(
    `select 9007199254740991::bigint as big, '{"b":1,"a":[{"d":1,"c":2}]}'::json as j`,
  );
  expect(JSON.stringify(rows)).toBe('[{"big":9007199254740991,"j":{"b":1,"a":[{"d":1,"c":2}]}}]');
});

test('a listener hears again by itself after its connection was killed', async () => {
  let calls = Promise.withResolvers<void>();
  const errors: unknown[] = [];
  const listener = listenForHints(store.db, {
    onDue: () => calls.resolve(),
    onError: (error) => errors.push(error),
  });
  await calls.promise;
  calls = Promise.withResolvers();
  await store.db.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query like 'listen %'`,
  );
  await calls.promise;
  expect(errors[0]).toMatchObject({ code: 'results_unavailable' });
  calls = Promise.withResolvers();
  await store.db.query(`select pg_notify('muster_dispatch', '')`);
  await calls.promise;
  await listener.stop();
});

test('every error class has one of the codes, and every code a class', () => {
  const made = [
    new errors.ResultsUnavailableError('a:1', 'x'),
    new errors.SchemaTooNewError({ version: 2, name: 'x' }, 1),
    new errors.MigrationFailedError(1, 'x', new Error('x')),
    new errors.LedgerMismatchError('x'),
    new errors.SettlementInvalidError('x'),
    new errors.ArtifactNotStagedError(1, 0),
    new errors.UnknownCursorError('x'),
    new errors.QuotaExceededError('max_open_runs', 1, 2),
    new errors.StatementRefusedError('23505', 'x', undefined),
  ];
  expect(made.map((error) => error.code).sort()).toEqual([...RESULTS_ERROR_CODES].sort());
  for (const error of made) expect(error.name).toBe(error.constructor.name);
});
