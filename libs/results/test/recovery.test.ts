import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  claimChunk,
  claimRun,
  finishRun,
  invariants,
  markAssessing,
  rebuildDispatch,
  rebuildLostQueue,
  requestCancel,
  settleChunk,
  stageArtifact,
  startCollect,
  takeDue,
} from '../src/index.ts';
import type { Store, Tenant } from './store.ts';
import { accepted, collected, completed, frozen, newTenant, OK, openStore, PROBLEM, reread, times } from './store.ts';
import { swept } from './sweeps.ts';

let store: Store;
let owner: Tenant;
beforeEach(async () => {
  store = await openStore();
  owner = await newTenant(store.db);
});
afterEach(() => store.close());

test('a death is a subject’s doing only when it came while that was being assessed', async () => {
  const { chunkIds } = await frozen(store.db, await accepted(store.db, owner), [2]);
  const chunkId = chunkIds[0]!;
  const claim = async () => (await claimChunk(store.db, { chunkId, dispatchNo: 9 }))!;
  const deathsAfter = async (marks: readonly boolean[]) => {
    const { fence } = await claim();
    for (const assessing of marks) await markAssessing(store.db, { chunkId, fence, assessing });
    const { chunk } = await claim();
    return chunk.subjectDeaths;
  };
  expect(await deathsAfter([])).toBe(0);
  expect(await deathsAfter([true, false])).toBe(0);
  expect(await deathsAfter([true])).toBe(1);
  expect(await deathsAfter([])).toBe(1);
  const { fence } = await claim();
  await claim();
  await markAssessing(store.db, { chunkId, fence, assessing: true });
  expect((await claim()).chunk.subjectDeaths).toBe(1);
  expect((await claim()).starts).toBe(12);
});

describe('after the queue has lost everything', () => {
  const due = async () => takeDue(store.db, { window: 100 });

  test('all that is unfinished is sent again under new numbers, and nothing else', async () => {
    const plan = await accepted(store.db, owner);
    const bounded = await accepted(store.db, owner, { form: 'procedure' });
    const { run, chunkIds } = await frozen(store.db, await accepted(store.db, owner), [1, 1, 1]);
    const { run: collect } = await frozen(store.db, await accepted(store.db, owner), []);
    const done = await completed(store.db, owner, {}, { sizes: [1] });
    const sent = await due();
    const { fence } = (await claimChunk(store.db, { chunkId: chunkIds[0]!, dispatchNo: 1 }))!;
    await settleChunk(store.db, { chunkId: chunkIds[0]!, fence, subjects: [OK] });
    expect(await due()).toEqual([]);

    expect(await rebuildDispatch(store.db)).toEqual({ runs: 3, chunks: 2 });
    const again = await due();
    const unfinished = [plan.id, bounded.id, collect.id, ...chunkIds.slice(1)];
    expect(again.map((item) => item.id).sort()).toEqual(unfinished.sort());
    for (const item of again) {
      expect(item.dispatchNo).toBe(sent.find(({ id }) => id === item.id)!.dispatchNo + 1);
    }
    expect(await reread(store.db, done)).toEqual(done);
    expect(await claimChunk(store.db, { chunkId: chunkIds[1]!, dispatchNo: 1 })).toBeUndefined();
    expect((await reread(store.db, run)).phase).toBe('assess');
  });

  test('an attempt that is still at work settles, and the job that was sent again finds nothing to do', async () => {
    const { chunkIds } = await frozen(store.db, await accepted(store.db, owner), [2]);
    const chunkId = chunkIds[0]!;
    await due();
    const { fence } = (await claimChunk(store.db, { chunkId, dispatchNo: 1 }))!;
    await rebuildDispatch(store.db);
    expect((await due()).map((item) => item.dispatchNo)).toEqual([2]);
    expect(await settleChunk(store.db, { chunkId, fence, subjects: times(2, OK) })).toBe('settled');
    expect(await claimChunk(store.db, { chunkId, dispatchNo: 2 })).toBeUndefined();
  });
});

describe('a queue that lost everything', () => {
  const lostQueue = () => {
    const queue = {
      lost: true,
      made: 0,
      isLost: async () => queue.lost,
      makeReady: async () => void queue.made++,
      noteRebuilt: async () => {
        queue.lost = false;
      },
    };
    return queue;
  };

  test('is seen to once, however many look at the same time', async () => {
    await frozen(store.db, await accepted(store.db, owner), [1, 1]);
    await takeDue(store.db, { window: 100 });
    const queue = lostQueue();
    const found = await Promise.all(Array.from({ length: 5 }, () => rebuildLostQueue(store.db, queue)));
    expect(found.filter((rebuilt) => rebuilt !== undefined)).toEqual([{ runs: 0, chunks: 2 }]);
    expect(queue).toMatchObject({ lost: false, made: 1 });
    expect(await rebuildLostQueue(store.db, queue)).toBeUndefined();
    expect(await takeDue(store.db, { window: 100 })).toHaveLength(2);
  });

  test('is seen to again when whoever did it died before it was noted', async () => {
    await accepted(store.db, owner);
    await takeDue(store.db, { window: 100 });
    const queue = lostQueue();
    const dying = { ...queue, noteRebuilt: () => Promise.reject(new Error('gone')) };
    await expect(rebuildLostQueue(store.db, dying)).rejects.toThrow();
    expect(await rebuildLostQueue(store.db, queue)).toBeDefined();
    expect(await takeDue(store.db, { window: 100 })).toHaveLength(1);
  });
});

describe('the invariants', () => {
  /** Changes rows as no code can: without triggers and foreign keys. */
  const tamper = (sql: string, ...values: unknown[]) =>
    store.db.transaction(async (tx) => {
      await tx.query('set local session_replication_role = replica');
      await tx.query(sql, values);
    });
  const broken = async () => (await invariants(store.db)).map(({ invariant, runId }) => [invariant, runId]);

  test('hold when everything has come to rest: completed, cancelled, failed, bounded, settled in parts', async () => {
    await completed(store.db, owner, {}, { sizes: [3, 2], subject: PROBLEM });
    const { run, chunkIds } = await frozen(store.db, await accepted(store.db, owner), [5]);
    const first = (await claimChunk(store.db, { chunkId: chunkIds[0]!, dispatchNo: 0 }))!;
    const remainder = { id: randomUUID(), items: Buffer.from('rest') };
    await settleChunk(store.db, { chunkId: chunkIds[0]!, fence: first.fence, subjects: times(2, OK), remainder });
    const rest = (await claimChunk(store.db, { chunkId: remainder.id, dispatchNo: 0 }))!;
    await settleChunk(store.db, { chunkId: remainder.id, fence: rest.fence, subjects: times(3, PROBLEM) });
    await startCollect(store.db, run.id);
    await collected(store.db, run);
    const cancelled = await accepted(store.db, owner);
    await requestCancel(store.db, { tenant: owner.tenant, runId: cancelled.id });
    await collected(store.db, cancelled);
    for (const [form, phase] of [
      ['fleet', 'plan'],
      ['procedure', 'procedure'],
    ] as const) {
      const failing = await accepted(store.db, owner, { form });
      const { fence } = (await claimRun(store.db, { runId: failing.id, phase, dispatchNo: 0 }))!;
      const answer = { kind: 'failure' as const, body: {} };
      const rows = form === 'procedure' ? [{ ...OK, key: 'a' }] : [];
      await finishRun(store.db, { runId: failing.id, fence, status: 'failed', answer, rows });
    }
    expect(await invariants(store.db)).toEqual([]);
  });

  test('name a run that is not answered', async () => {
    const waiting = await accepted(store.db, owner);
    const answered = await completed(store.db, owner);
    await tamper('delete from muster.answers where run_id = $1', answered.id);
    expect((await broken()).sort()).toEqual(
      [waiting.id, answered.id].map((id) => ['every_run_is_answered', id]).sort(),
    );
  });

  test.each([
    ['a row that is missing', 'delete from muster.subjects where run_id = $1 and ordinal = 1'],
    [
      'a second outcome of a subject',
      `insert into muster.subjects (tenant, session_id, run_created_at, run_id, chunk_id, ordinal, key, outcome, verdict,
          standing, settled_at)
        select tenant, session_id, run_created_at + interval '1 ms', run_id, chunk_id, ordinal, key, outcome, verdict,
          standing, settled_at from muster.subjects where run_id = $1 and ordinal = 0`,
    ],
    ['a row beyond the denominator', 'update muster.subjects set ordinal = 7 where run_id = $1 and ordinal = 2'],
    ['rows of no run', 'update muster.subjects set run_id = gen_random_uuid() where run_id = $1'],
  ])('name subjects that do not end exactly once: %s', async (_what, sql) => {
    const run = await completed(store.db, owner, {}, { sizes: [3] });
    await tamper(sql, run.id);
    expect((await broken()).map(([invariant]) => invariant)).toContain('every_subject_ends_once');
  });

  test.each([
    ['chunk against rows', 'update muster.chunks set ok_count = 2, problem_count = 1 where run_id = $1'],
    ['chunks against the plan', 'update muster.runs set subjects_total = 4 where id = $1'],
  ])('name counts that do not add up: %s', async (_what, sql) => {
    const run = await completed(store.db, owner, {}, { sizes: [3] });
    await tamper(sql, run.id);
    expect(await broken()).toContainEqual(['counts_add_up', run.id]);
  });

  test.each([
    ['a change that is missing', 'delete from muster.changes where run_id = $1'],
    ['changes of a run that recorded none', 'update muster.changes set run_id = gen_random_uuid() where run_id = $1'],
    [
      'a second standing',
      `insert into muster.scope_standings (scope_id, identity, subject_key, sweeps_in_standing, unknown_since, last_run_id,
          as_of, steady)
        select scope_id, identity, subject_key, 0, now(), last_run_id, as_of, false from muster.scope_standings
          where last_run_id = $1`,
    ],
  ])('name changes that are not told once: %s', async (_what, sql) => {
    await swept(store.db, owner, [['a', 'ok']], { acceptedAt: new Date('2026-01-01T00:00:00Z') });
    const { run } = await swept(store.db, owner, [['a', 'problem']], { acceptedAt: new Date('2026-01-02T00:00:00Z') });
    await tamper(sql, run.id);
    expect((await broken()).map(([invariant]) => invariant)).toContain('changes_are_told_once');
  });

  test.each([
    ['a chunk of another plan', 'update muster.chunks set plan_fence = 2 where run_id = $1'],
    ['a settlement without a claim', 'update muster.chunks set fence = 0 where run_id = $1'],
    ['rows of another settlement', `update muster.subjects set settled_at = '2020-01-01' where run_id = $1`],
    ['rows of another chunk', 'update muster.subjects set chunk_id = gen_random_uuid() where run_id = $1'],
    [
      'an artifact of another attempt at the run',
      `insert into muster.artifacts (ref, tenant, session_id, run_id, purpose, state, owner, fence, kind, media_type, bytes,
          store_conversation, created_at, committed_at)
        select 'art_x', tenant, session_id, id, 'walk', 'committed', 'w', 9, 'k', 'm', 1, 's', now(), now()
          from muster.runs where id = $1`,
    ],
    [
      'an artifact of another attempt at a chunk',
      `insert into muster.artifacts (ref, tenant, session_id, run_id, chunk_id, purpose, state, owner, fence, kind,
          media_type, bytes, store_conversation, created_at, committed_at)
        select 'art_x', tenant, session_id, run_id, id, 'segment', 'committed', 'w', 9, 'k', 'm', 1, 's', now(), now()
          from muster.chunks where run_id = $1`,
    ],
  ])('name what came of a stale fence: %s', async (_what, sql) => {
    const run = await completed(store.db, owner, {}, { sizes: [3] });
    await tamper(sql, run.id);
    expect(await broken()).toContainEqual(['nothing_came_of_stale_fences', run.id]);
  });

  test('name chunks that are open and artifacts that are staged', async () => {
    const { run } = await frozen(store.db, await accepted(store.db, owner), [1]);
    const done = await completed(store.db, owner);
    await stageArtifact(store.db, {
      ref: 'art_staged',
      tenant: owner.tenant,
      sessionId: owner.sessionId,
      runId: done.id,
      fence: done.fence,
      purpose: 'walk',
      owner: 'worker-1',
      kind: 'recording/chart-walk',
      mediaType: 'application/x-ndjson',
      storeConversation: done.id,
    });
    const left = (await broken()).filter(([invariant]) => invariant === 'nothing_is_left_over');
    expect(left.map(([, runId]) => runId).sort()).toEqual([run.id, done.id].sort());
  });
});
