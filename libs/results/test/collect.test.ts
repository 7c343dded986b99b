import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ChunkSummary, RunFinish, RunScope } from '../src/index.ts';
import {
  chunkSummaries,
  claimChunk,
  claimRun,
  countOutcomes,
  finishRun,
  getAnswer,
  headRows,
  listEvents,
  markProgress,
  notCheckedGroups,
  pageSubjects,
  settleChunk,
  startCollect,
  startReadyCollects,
  writeChunks,
} from '../src/index.ts';
import type { Store, Tenant } from './store.ts';
import {
  accepted,
  CANNOT_COVER,
  DECLINED,
  frozen,
  NOT_CHECKED,
  names,
  newTenant,
  OK,
  openStore,
  PROBLEM,
  reread,
  times,
} from './store.ts';

let store: Store;
let owner: Tenant;
beforeAll(async () => {
  store = await openStore();
  owner = await newTenant(store.db);
});
afterAll(() => store.close());

const settle = async (chunkId: string, subjects: Parameters<typeof settleChunk>[1]['subjects'], summary?: unknown) => {
  const { fence } = (await claimChunk(store.db, { chunkId, dispatchNo: 0 }))!;
  expect(await settleChunk(store.db, { chunkId, fence, subjects, summary })).toBe('settled');
};

const summariesOf = async (scope: RunScope) => {
  const summaries: ChunkSummary[] = [];
  for await (const summary of chunkSummaries(store.db, scope)) summaries.push(summary);
  return summaries;
};

const collecting = async () => {
  const { run } = await frozen(store.db, await accepted(store.db, owner), []);
  return (await claimRun(store.db, { runId: run.id, phase: 'collect', dispatchNo: 0 }))!;
};

test('eight concurrent settlers start collect exactly once in each of fifty runs', { timeout: 120_000 }, async () => {
  for (let round = 0; round < 50; round += 1) {
    const { run, chunkIds } = await frozen(store.db, await accepted(store.db, owner), [1, 1, 1, 1, 1, 1, 1, 1]);
    const won = await Promise.all(
      chunkIds.map(async (chunkId) => {
        await settle(chunkId, [OK]);
        return startCollect(store.db, run.id);
      }),
    );
    expect(won.filter(Boolean)).toHaveLength(1);
    expect(await reread(store.db, run)).toMatchObject({ phase: 'collect', dispatchedAt: null });
  }
});

test('a run whose last settler died before it could start collect is found and moved on, once', async () => {
  const { run, chunkIds } = await frozen(store.db, await accepted(store.db, owner), [2]);
  expect(await startReadyCollects(store.db, { limit: 100 })).toEqual([]);
  await settle(chunkIds[0]!, times(2, OK));
  const found = await Promise.all([1, 2, 3].map(() => startReadyCollects(store.db, { limit: 100 })));
  expect(found.flat()).toEqual([run.id]);
});

test('a run is finished once, whatever else tries, and its answer keeps the order of its keys', async () => {
  const { run, fence } = await collecting();
  const body = { result: { zeta: 1, alpha: { y: [{ b: 1, a: 2 }], x: null } }, af_coverage: { note: 'n' } };
  const finish: RunFinish = {
    runId: run.id,
    fence,
    status: 'completed',
    answer: { kind: 'envelope', body },
    statusSummary: 'all\nclear',
    events: [{ kind: 'vertex_completed', vertexId: 'collect', vertexLabel: 'collect' }],
  };
  const outcomes = await Promise.all(Array.from({ length: 6 }, () => finishRun(store.db, finish)));
  expect(outcomes.filter((outcome) => outcome === 'finished')).toHaveLength(1);
  const done = await reread(store.db, run);
  expect(done).toMatchObject({
    status: 'completed',
    phase: 'done',
    answerKind: 'envelope',
    statusSummary: 'all clear',
  });
  const answer = await getAnswer(store.db, { tenant: owner.tenant, runId: run.id });
  expect(JSON.stringify(answer!.body)).toBe(JSON.stringify(body));
  const history = await listEvents(store.db, { tenant: owner.tenant, runId: run.id, limit: 100 });
  expect(history!.entries.slice(-2).map((entry) => [entry.kind, entry.revision, entry.runStatus])).toEqual([
    ['vertex_completed', done.revision, 'completed'],
    ['run_completed', done.revision, 'completed'],
  ]);
});

test('a collect whose fence has moved on finishes nothing', async () => {
  const first = await collecting();
  const second = (await claimRun(store.db, { runId: first.run.id, phase: 'collect', dispatchNo: 0 }))!;
  const finish = { runId: first.run.id, status: 'failed' as const, answer: { kind: 'failure' as const, body: {} } };
  expect(await finishRun(store.db, { ...finish, fence: first.fence })).toBe('lost');
  expect(await getAnswer(store.db, { tenant: owner.tenant, runId: first.run.id })).toBeUndefined();
  expect(await finishRun(store.db, { ...finish, fence: second.fence })).toBe('finished');
});

test('a plan that ends the run leaves none of its chunks behind', async () => {
  const run = await accepted(store.db, owner);
  const { fence } = (await claimRun(store.db, { runId: run.id, phase: 'plan', dispatchNo: 0 }))!;
  const chunks = [{ firstOrdinal: 0, size: 1, items: Buffer.from('x'), keys: names(0, 1) }];
  await writeChunks(store.db, { runId: run.id, fence, chunks });
  const answer = { kind: 'absence' as const, body: { af_absent: true } };
  expect(await finishRun(store.db, { runId: run.id, fence, status: 'completed', answer })).toBe('finished');
  const { rows } = await store.db.query('select id from muster.chunks where run_id = $1', [run.id]);
  expect(rows).toEqual([]);
});

test('a procedure goes from its claim to its answer in one job', async () => {
  const run = await accepted(store.db, owner, { form: 'procedure' });
  const { fence } = (await claimRun(store.db, { runId: run.id, phase: 'procedure', dispatchNo: 0 }))!;
  const answer = { kind: 'envelope' as const, body: {} };
  expect(await finishRun(store.db, { runId: run.id, fence, status: 'completed', answer })).toBe('finished');
  const history = await listEvents(store.db, { tenant: owner.tenant, runId: run.id, limit: 100 });
  expect(history!.entries.map((entry) => entry.kind)).toEqual(['run_started', 'run_completed']);
});

test('the rows of a procedure are subjects of its run, each under a key of its own', async () => {
  const run = await accepted(store.db, owner, { form: 'procedure' });
  const { fence } = (await claimRun(store.db, { runId: run.id, phase: 'procedure', dispatchNo: 0 }))!;
  const rows = ['a (row 3)', 'a', 'a', 'b\0', 'b\ufffd'].map((key) => ({ ...PROBLEM, key }));
  const answer = { kind: 'envelope' as const, body: {} };
  expect(await finishRun(store.db, { runId: run.id, fence, status: 'completed', answer, rows })).toBe('finished');
  const page = await pageSubjects(store.db, { tenant: owner.tenant, runId: run.id, limit: 10 });
  expect(page!.rows.map((row) => row.key)).toEqual([
    'a (row 3)',
    'a',
    'a (row 3) (row 3)',
    'b\ufffd',
    'b\ufffd (row 5)',
  ]);
});

test('progress marks only rise, and a run has at most a hundred of them', { timeout: 60_000 }, async () => {
  const { run, chunkIds } = await frozen(store.db, await accepted(store.db, owner), [1, 1]);
  await settle(chunkIds[0]!, [OK]);
  expect(await markProgress(store.db, run.id, 50)).toBe(true);
  expect(await markProgress(store.db, run.id, 50)).toBe(false);
  expect(await markProgress(store.db, run.id, 12)).toBe(false);
  expect(await markProgress(store.db, run.id, 50.9)).toBe(false);
  const calls = Array.from({ length: 250 }, (_, index) => markProgress(store.db, run.id, index));
  await Promise.all(calls);
  const history = await listEvents(store.db, { tenant: owner.tenant, runId: run.id, limit: 1000 });
  const marks = history!.entries.filter((entry) => entry.vertexLabel === 'assess');
  expect(marks.length).toBeLessThanOrEqual(100);
  expect(marks[0]).toMatchObject({ completedVertices: 1, totalVertices: 2, kind: 'vertex_completed' });
  expect((await reread(store.db, run)).progressMark).toBe(100);
});

test('what collect reads is ordered, counted and bounded', async () => {
  const { run, chunkIds } = await frozen(store.db, await accepted(store.db, owner), [4, 4]);
  await settle(chunkIds[1]!, [DECLINED, PROBLEM, NOT_CHECKED, OK], { part: 2 });
  await settle(chunkIds[0]!, [OK, NOT_CHECKED, PROBLEM, CANNOT_COVER], { part: 1 });
  const scope = { tenant: owner.tenant, runId: run.id };
  const head = async (limit: number) => (await headRows(store.db, { ...scope, limit })).map((row) => row.ordinal);
  expect(await head(10)).toEqual([2, 5, 4, 0, 7]);
  expect(await head(2)).toEqual([2, 5]);
  const summaries = await summariesOf(scope);
  expect(summaries.map(({ firstOrdinal, summary }) => [firstOrdinal, summary])).toEqual([
    [0, { part: 1 }],
    [4, { part: 2 }],
  ]);
  expect(await countOutcomes(store.db, scope)).toEqual({
    total: 8,
    ok: 2,
    problem: 2,
    declined: 1,
    notChecked: 2,
    cannotCover: 1,
  });
  const groups = await notCheckedGroups(store.db, scope);
  expect(groups).toEqual({
    groups: [
      {
        outcome: 'not_checked',
        reasonCode: 'cancelled',
        reason: 'cancelled',
        count: 2,
        sampleKeys: ['subject-1', 'subject-6'],
      },
      { outcome: 'cannot_cover', reasonCode: 'no_access', reason: 'no access', count: 1, sampleKeys: ['subject-3'] },
    ],
    restGroups: 0,
    restSubjects: 0,
  });
  expect(await notCheckedGroups(store.db, { ...scope, limit: 1 })).toMatchObject({ restGroups: 1, restSubjects: 1 });
});

test('groups show five keys however many subjects share a reason, and summaries come over many pages', async () => {
  const sizes = Array.from({ length: 230 }, () => 1);
  const { run, chunkIds } = await frozen(store.db, await accepted(store.db, owner), sizes);
  for (const chunkId of chunkIds) await settle(chunkId, [NOT_CHECKED]);
  const scope = { tenant: owner.tenant, runId: run.id };
  const { groups } = await notCheckedGroups(store.db, scope);
  expect(groups).toMatchObject([{ count: 230, sampleKeys: names(0, 5).map(([key]) => key) }]);
  const summaries = await summariesOf(scope);
  expect(summaries.map((summary) => summary.firstOrdinal)).toEqual(sizes.map((_, index) => index));
});
