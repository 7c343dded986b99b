/** Hearing of changes of runs: what is told, what is not, and what a lost connection costs. */
import { createServer } from 'node:net';
import { waitFor } from '@muster/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  acceptRun,
  answerInterruption,
  claimChunk,
  claimRun,
  type Database,
  finishRun,
  freezeRun,
  getRuns,
  listenForRunChanges,
  openDatabase,
  requestCancel,
  settleChunk,
  startCollect,
  writeChunks,
} from '../src/index.ts';
import type { Store, Tenant } from './store.ts';
import { acceptance, accepted, frozen, names, newTenant, OK, openStore, times } from './store.ts';

let store: Store;
let owner: Tenant;
beforeAll(async () => {
  store = await openStore();
  owner = await newTenant(store.db);
});
afterAll(() => store.close());

/** A listener that is connected, and the ids that it has heard. */
async function listening(db: Database = store.db) {
  const heard: string[] = [];
  let connections = 0;
  const errors: unknown[] = [];
  const listener = listenForRunChanges(db, {
    onChange: (runId) => heard.push(runId),
    onReconnected() {
      connections += 1;
    },
    onError: (error) => errors.push(error),
  });
  const connected = (count: number) =>
    waitFor(
      async () => connections,
      (now) => now >= count,
      { what: `${count} connections` },
    );
  await connected(1);
  return { listener, heard, errors, connected };
}

/** Everything that was told before this was called is heard when it resolves. */
async function allHeard(heard: string[]): Promise<string[]> {
  const mark = `mark-${heard.length}`;
  await store.db.query(`select pg_notify('muster_run', $1)`, [mark]);
  await waitFor(
    async () => heard,
    (ids) => ids.includes(mark),
    { what: 'the mark is heard' },
  );
  return heard.splice(0).filter((id) => id !== mark);
}

test('each change of a run is told once it is committed, by the id of the run', async () => {
  const { listener, heard } = await listening();
  const outcome = await acceptRun(store.db, acceptance(owner));
  const run = outcome.outcome === 'accepted' ? outcome.run : expect.unreachable('it is accepted');
  const scope = { tenant: run.tenant, runId: run.id };
  expect(await allHeard(heard)).toContain(run.id);
  const { fence } = (await claimRun(store.db, { runId: run.id, phase: 'plan', dispatchNo: 0 }))!;
  expect(await allHeard(heard)).toContain(run.id);
  const chunk = { firstOrdinal: 0, size: 1, items: Buffer.from('x'), keys: names(0, 1) };
  await writeChunks(store.db, { runId: run.id, fence, chunks: [chunk] });
  const policy = { role: 'approver', self: true, withinMs: 60_000 } as const;
  const approval = { question: 'Go on?', resumeSchema: {}, policy };
  await freezeRun(store.db, { runId: run.id, fence, total: 1, planSummary: {}, approval });
  expect(await allHeard(heard)).toContain(run.id);
  const by = { keyId: owner.keyId, role: 'admin' as const };
  await answerInterruption(store.db, { ...scope, answer: '{}', digest: 'd', by });
  expect(await allHeard(heard)).toContain(run.id);
  await listener.stop();
});

test('settlements tell nobody, and neither does what is undone', async () => {
  const { run, chunkIds } = await frozen(store.db, await accepted(store.db, owner), [1, 1]);
  const { listener, heard } = await listening();
  for (const chunkId of chunkIds) {
    const { fence } = (await claimChunk(store.db, { chunkId, dispatchNo: 0 }))!;
    await settleChunk(store.db, { chunkId, fence, subjects: times(1, OK) });
  }
  const undone = store.db.transaction(async (tx) => {
    await startCollect(tx, run.id);
    throw new Error('undone');
  });
  await expect(undone).rejects.toThrow('undone');
  expect(await allHeard(heard)).toEqual([]);
  await startCollect(store.db, run.id);
  expect(await allHeard(heard)).toEqual([run.id]);
  const { fence } = (await claimRun(store.db, { runId: run.id, phase: 'collect', dispatchNo: 0 }))!;
  await finishRun(store.db, { runId: run.id, fence, status: 'completed', answer: { kind: 'envelope', body: {} } });
  expect(await allHeard(heard)).toEqual([run.id]);
  await listener.stop();
});

test('after its connection was killed a listener says that it missed something, and hears again', async () => {
  const { listener, heard, errors, connected } = await listening();
  await store.db.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query like 'listen muster_run%'`,
  );
  const run = await accepted(store.db, owner);
  await connected(2);
  expect(errors[0]).toMatchObject({ code: 'results_unavailable' });
  await claimRun(store.db, { runId: run.id, phase: 'plan', dispatchNo: 0 });
  expect(await allHeard(heard)).toContain(run.id);
  await listener.stop();
});

test('a listener that is stopped leaves no connection, also while the store is away', async () => {
  const { listener } = await listening();
  await Promise.all([listener.stop(), listener.stop()]);
  await waitFor(
    () =>
      store.db.query(
        `select from pg_stat_activity where datname = current_database() and query like 'listen muster_run%'`,
      ),
    ({ rowCount }) => rowCount === 0,
    { what: 'nobody listens' },
  );
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const away = openDatabase({ url: `postgres://nobody@127.0.0.1:${port}/muster` });
  const failed = Promise.withResolvers<unknown>();
  const trying = listenForRunChanges(away, {
    onChange: () => {},
    onReconnected: () => {},
    onError: (error) => failed.resolve(error),
  });
  expect(await failed.promise).toMatchObject({ code: 'results_unavailable' });
  await trying.stop();
  await away.close();
  await new Promise((resolve) => server.close(resolve));
});

test('runs are read by their ids in one go, those of other tenants left out', async () => {
  const stranger = await newTenant(store.db);
  const [first, second, foreign] = [
    await accepted(store.db, owner),
    await accepted(store.db, owner),
    await accepted(store.db, stranger),
  ];
  const ids = [first!.id, second!.id, foreign!.id];
  const idsOf = async (tenant?: string) => (await getRuns(store.db, { tenant, ids })).map(({ id }) => id).sort();
  expect(await idsOf(owner.tenant)).toEqual([first!.id, second!.id].sort());
  expect(await idsOf()).toEqual([...ids].sort());
  expect(await getRuns(store.db, { ids: [] })).toEqual([]);
  const cancelled = await requestCancel(store.db, { tenant: owner.tenant, runId: first!.id });
  expect((await getRuns(store.db, { ids: [first!.id] }))[0]).toEqual(
    cancelled.outcome === 'requested' ? cancelled.run : expect.unreachable('it is asked'),
  );
});
