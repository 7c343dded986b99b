import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PlannedChunk } from '../src/index.ts';
import {
  claimChunk,
  claimRun,
  finishRun,
  freezeRun,
  listEvents,
  pageSubjects,
  releaseChunk,
  releaseRun,
  runProgress,
  settleChunk,
  stageArtifact,
  startCollect,
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

const chunk = (firstOrdinal: number, size: number): PlannedChunk => ({
  firstOrdinal,
  size,
  items: Buffer.from('items'),
  keys: names(firstOrdinal, size),
});

const planning = async () => {
  const run = await accepted(store.db, owner);
  return (await claimRun(store.db, { runId: run.id, phase: 'plan', dispatchNo: 0 }))!;
};

const assessing = async (sizes: number[]) => frozen(store.db, await accepted(store.db, owner), sizes);

const openChunks = async (runId: string) =>
  (
    await store.db.query<{ id: string; firstOrdinal: number; size: number; items: Buffer; keys: string[][] }>(
      `select id, first_ordinal as "firstOrdinal", size, items, keys from muster.chunks
        where run_id = $1 and state = 'open' order by first_ordinal`,
      [runId],
    )
  ).rows;

describe('a run', () => {
  test('is started by its first claim, and the second raises the fence without starting it again', async () => {
    const first = await planning();
    expect(first).toMatchObject({ fence: 1, run: { status: 'running', revision: 2, starts: 1 } });
    const second = await claimRun(store.db, { runId: first.run.id, phase: 'plan', dispatchNo: 0 });
    expect(second).toMatchObject({ fence: 2, run: { status: 'running', revision: 2, starts: 2 } });
    const history = await listEvents(store.db, { tenant: owner.tenant, runId: first.run.id, limit: 10 });
    expect(history!.entries.map((entry) => entry.kind)).toEqual(['run_started']);
  });

  test('claimed many times at once gives every claim a fence of its own', async () => {
    const run = await accepted(store.db, owner);
    const claims = await Promise.all(
      Array.from({ length: 8 }, () => claimRun(store.db, { runId: run.id, phase: 'plan', dispatchNo: 0 })),
    );
    expect(claims.map((claim) => claim!.fence).sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  test('is not claimed for another phase, by a job that was sent before, or when it is not there', async () => {
    const run = await accepted(store.db, owner);
    await store.db.query('update muster.runs set dispatch_no = 3 where id = $1', [run.id]);
    expect(await claimRun(store.db, { runId: run.id, phase: 'collect', dispatchNo: 3 })).toBeUndefined();
    expect(await claimRun(store.db, { runId: run.id, phase: 'plan', dispatchNo: 2 })).toBeUndefined();
    expect(await claimRun(store.db, { runId: randomUUID(), phase: 'plan', dispatchNo: 3 })).toBeUndefined();
    expect(await claimRun(store.db, { runId: run.id, phase: 'plan', dispatchNo: 3 })).toBeDefined();
  });

  test('that is handed back is due at once, not counted as a start, and closed to the attempt that had it', async () => {
    const { run, fence } = await planning();
    expect(await releaseRun(store.db, { runId: run.id, fence })).toBe(true);
    expect(await reread(store.db, run)).toMatchObject({ starts: 0, dispatchedAt: null, status: 'running' });
    expect(await releaseRun(store.db, { runId: run.id, fence })).toBe(false);
    expect(await writeChunks(store.db, { runId: run.id, fence, chunks: [chunk(0, 1)] })).toBe(false);
  });
});

describe('a plan', () => {
  test('whose fence has moved on writes, freezes and finishes nothing', async () => {
    const { run, fence } = await planning();
    const current = (await claimRun(store.db, { runId: run.id, phase: 'plan', dispatchNo: 0 }))!;
    expect(await writeChunks(store.db, { runId: run.id, fence, chunks: [chunk(0, 2)] })).toBe(false);
    expect(await freezeRun(store.db, { runId: run.id, fence, total: 0, planSummary: null })).toBe(false);
    const answer = { kind: 'failure' as const, body: {} };
    expect(await finishRun(store.db, { runId: run.id, fence, status: 'failed', answer })).toBe('lost');
    expect(await openChunks(run.id)).toEqual([]);
    expect(await reread(store.db, run)).toMatchObject({ phase: 'plan', fence: current.fence });
  });

  test('that froze keeps its own chunks and deletes those of the attempt before', async () => {
    const first = await planning();
    const runId = first.run.id;
    await writeChunks(store.db, { runId, fence: first.fence, chunks: [chunk(0, 5), chunk(5, 5)] });
    const second = (await claimRun(store.db, { runId, phase: 'plan', dispatchNo: 0 }))!;
    await writeChunks(store.db, { runId, fence: second.fence, chunks: [chunk(0, 3)] });
    const planSummary = { z: 1, a: { y: 2, b: 3 } };
    expect(await freezeRun(store.db, { runId, fence: second.fence, total: 3, planSummary })).toBe(true);
    expect((await openChunks(runId)).map(({ size }) => size)).toEqual([3]);
    const run = await reread(store.db, first.run);
    expect(run).toMatchObject({ phase: 'assess', subjectsTotal: 3, planFence: 2, dispatchedAt: null, starts: 0 });
    expect(JSON.stringify(run.planSummary)).toBe(JSON.stringify(planSummary));
  });

  test('whose chunks do not add up, leave a gap or overlap is refused, and nothing is frozen', async () => {
    const layouts: [PlannedChunk[], number, RegExp][] = [
      [[chunk(0, 2)], 3, /counted 3 subjects, its chunks hold 2/],
      [[], 1, /hold 0/],
      [[chunk(0, 2), chunk(3, 1)], 3, /gap or overlap/],
      [[chunk(0, 2), chunk(1, 1), chunk(4, 1)], 4, /gap or overlap/],
    ];
    for (const [chunks, total, message] of layouts) {
      const { run, fence } = await planning();
      await writeChunks(store.db, { runId: run.id, fence, chunks });
      const frozen = freezeRun(store.db, { runId: run.id, fence, total, planSummary: null });
      await expect(frozen).rejects.toMatchObject({ code: 'ledger_mismatch', message: expect.stringMatching(message) });
      expect(await reread(store.db, run)).toMatchObject({ phase: 'plan', frozenAt: null });
    }
  });

  test('of no subjects goes on to collect', async () => {
    const { run } = await assessing([]);
    expect(run).toMatchObject({ phase: 'collect', subjectsTotal: 0, status: 'running' });
  });

  test('that froze is closed: its own fence writes and freezes no more, and cannot finish the run', async () => {
    const { run, fence } = await assessing([2]);
    expect(await writeChunks(store.db, { runId: run.id, fence, chunks: [chunk(2, 1)] })).toBe(false);
    expect(await freezeRun(store.db, { runId: run.id, fence, total: 2, planSummary: null })).toBe(false);
    const answer = { kind: 'failure' as const, body: {} };
    expect(await finishRun(store.db, { runId: run.id, fence, status: 'failed', answer })).toBe('lost');
  });

  test('written twice by the same attempt stands once', async () => {
    const { run, fence } = await planning();
    const chunks = [chunk(0, 2)];
    expect(await writeChunks(store.db, { runId: run.id, fence, chunks })).toBe(true);
    expect(await writeChunks(store.db, { runId: run.id, fence, chunks })).toBe(true);
    expect(await freezeRun(store.db, { runId: run.id, fence, total: 2, planSummary: null })).toBe(true);
  });
});

describe('a chunk', () => {
  test('claimed twice belongs to the second claim, and the settlement of the first is lost', async () => {
    const { run, chunkIds } = await assessing([2]);
    const chunkId = chunkIds[0]!;
    const [first, second] = [
      await claimChunk(store.db, { chunkId, dispatchNo: 0 }),
      await claimChunk(store.db, { chunkId, dispatchNo: 0 }),
    ];
    expect([first!.fence, second!.fence, second!.starts]).toEqual([1, 2, 2]);
    expect(second!.chunk).toMatchObject({ size: 2, items: Buffer.from('items-0'), keys: names(0, 2) });
    const late = { chunkId, fence: first!.fence, subjects: times(2, PROBLEM) };
    expect(await settleChunk(store.db, late)).toBe('lost');
    expect(await settleChunk(store.db, { chunkId, fence: second!.fence, subjects: times(2, OK) })).toBe('settled');
    expect(await settleChunk(store.db, late)).toBe('lost');
    expect(await settleChunk(store.db, { chunkId, fence: second!.fence, subjects: times(2, OK) })).toBe('lost');
    const page = await pageSubjects(store.db, { tenant: owner.tenant, runId: run.id, limit: 10 });
    expect(page!.rows.map((row) => [row.key, row.verdict])).toEqual([
      ['subject-0', 'healthy'],
      ['subject-1', 'healthy'],
    ]);
  });

  test('settled by eight attempts at once under one fence is settled by one', async () => {
    const { run, chunkIds } = await assessing([3]);
    const chunkId = chunkIds[0]!;
    const { fence } = (await claimChunk(store.db, { chunkId, dispatchNo: 0 }))!;
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, () => settleChunk(store.db, { chunkId, fence, subjects: times(3, OK) })),
    );
    expect(outcomes.filter((outcome) => outcome === 'settled')).toHaveLength(1);
    expect(await runProgress(store.db, { tenant: owner.tenant, runId: run.id })).toMatchObject({ settled: 3, ok: 3 });
  });

  test('is not claimed when it is settled, when its run is elsewhere, or by a job that was sent before', async () => {
    const { chunkIds } = await assessing([1]);
    const chunkId = chunkIds[0]!;
    await store.db.query('update muster.chunks set dispatch_no = 2 where id = $1', [chunkId]);
    expect(await claimChunk(store.db, { chunkId, dispatchNo: 1 })).toBeUndefined();
    const claim = await claimChunk(store.db, { chunkId, dispatchNo: 2 });
    await settleChunk(store.db, { chunkId, fence: claim!.fence, subjects: [OK] });
    expect(await claimChunk(store.db, { chunkId, dispatchNo: 2 })).toBeUndefined();
    const { run, fence } = await planning();
    const id = randomUUID();
    await writeChunks(store.db, { runId: run.id, fence, chunks: [{ ...chunk(0, 1), id }] });
    expect(await claimChunk(store.db, { chunkId: id, dispatchNo: 0 })).toBeUndefined();
  });

  test('that is handed back is due at once, not counted as a start, and closed to the attempt that had it', async () => {
    const { chunkIds } = await assessing([1]);
    const chunkId = chunkIds[0]!;
    const { fence } = (await claimChunk(store.db, { chunkId, dispatchNo: 0 }))!;
    expect(await releaseChunk(store.db, { chunkId, fence })).toBe(true);
    expect(await releaseChunk(store.db, { chunkId, fence })).toBe(false);
    expect(await settleChunk(store.db, { chunkId, fence, subjects: [OK] })).toBe('lost');
    expect(await claimChunk(store.db, { chunkId, dispatchNo: 0 })).toMatchObject({ fence: 3, starts: 1 });
  });

  test('covered in part leaves the rest as a new open chunk, and every subject is settled once in the end', async () => {
    const { run, chunkIds } = await assessing([5, 2]);
    const chunkId = chunkIds[0]!;
    const { fence } = (await claimChunk(store.db, { chunkId, dispatchNo: 0 }))!;
    const remainder = { id: randomUUID(), items: Buffer.from('the rest') };
    const subjects = [PROBLEM, NOT_CHECKED];
    expect(await settleChunk(store.db, { chunkId, fence, subjects, remainder })).toBe('settled');
    expect(await openChunks(run.id)).toMatchObject([
      { id: remainder.id, firstOrdinal: 2, size: 3, items: remainder.items, keys: names(2, 3) },
      { id: chunkIds[1], firstOrdinal: 5, size: 2 },
    ]);
    expect(await startCollect(store.db, run.id)).toBe(false);
    for (const open of await openChunks(run.id)) {
      const claim = (await claimChunk(store.db, { chunkId: open.id, dispatchNo: 0 }))!;
      expect(claim.starts).toBe(1);
      await settleChunk(store.db, { chunkId: open.id, fence: claim.fence, subjects: times(open.size, OK) });
    }
    expect(await startCollect(store.db, run.id)).toBe(true);
    const page = await pageSubjects(store.db, { tenant: owner.tenant, runId: run.id, limit: 10 });
    expect(page!.rows.map((row) => [row.ordinal, row.key, row.target])).toEqual(
      names(0, 7).map(([key, , target], ordinal) => [ordinal, key, target]),
    );
  });

  test('counts what it settled, keeps its summary and forgets its items', async () => {
    const { run, chunkIds } = await assessing([5]);
    const chunkId = chunkIds[0]!;
    const { fence } = (await claimChunk(store.db, { chunkId, dispatchNo: 0 }))!;
    const subjects = [OK, PROBLEM, DECLINED, NOT_CHECKED, CANNOT_COVER];
    await settleChunk(store.db, { chunkId, fence, subjects, summary: { steps: 5 }, walkRef: 'art_walk' });
    expect(await runProgress(store.db, { tenant: owner.tenant, runId: run.id })).toEqual({
      total: 5,
      settled: 5,
      ok: 1,
      problem: 1,
      declined: 1,
      notChecked: 1,
      cannotCover: 1,
      openChunks: 0,
      settledChunks: 1,
    });
    const { rows } = await store.db.query('select items from muster.chunks where id = $1', [chunkId]);
    expect(rows).toEqual([{ items: null }]);
  });

  test('refuses a settlement that does not fit it, and stays open', async () => {
    const { chunkIds } = await assessing([2]);
    const chunkId = chunkIds[0]!;
    const { fence } = (await claimChunk(store.db, { chunkId, dispatchNo: 0 }))!;
    const remainder = { id: randomUUID(), items: Buffer.from('rest') };
    for (const misfit of [
      { subjects: [] },
      { subjects: times(3, OK) },
      { subjects: times(1, OK) },
      { subjects: times(2, OK), remainder },
    ]) {
      await expect(settleChunk(store.db, { chunkId, fence, ...misfit })).rejects.toMatchObject({
        code: 'settlement_invalid',
      });
    }
    expect(await settleChunk(store.db, { chunkId, fence, subjects: times(2, OK) })).toBe('settled');
  });

  test('whose settlement names an artifact that it did not stage is not settled at all', async () => {
    const { run, chunkIds } = await assessing([1]);
    const chunkId = chunkIds[0]!;
    const stage = (ref: string, fence: number) =>
      stageArtifact(store.db, {
        ref,
        tenant: owner.tenant,
        sessionId: owner.sessionId,
        runId: run.id,
        chunkId,
        fence,
        purpose: 'segment',
        owner: 'worker-1',
        kind: 'recording/chart-walk',
        mediaType: 'application/x-ndjson',
        storeConversation: run.id,
      });
    const first = (await claimChunk(store.db, { chunkId, dispatchNo: 0 }))!;
    await stage('art_first', first.fence);
    const second = (await claimChunk(store.db, { chunkId, dispatchNo: 0 }))!;
    await stage('art_second', second.fence);
    const settle = (refs: string[]) =>
      settleChunk(store.db, {
        chunkId,
        fence: second.fence,
        subjects: [OK],
        artifacts: refs.map((ref) => ({ ref, bytes: 10 })),
      });
    await expect(settle(['art_first'])).rejects.toMatchObject({ code: 'artifact_not_staged' });
    await expect(settle(['art_second', 'art_unknown'])).rejects.toMatchObject({ code: 'artifact_not_staged' });
    expect(await openChunks(run.id)).toHaveLength(1);
    expect(await settle(['art_second'])).toBe('settled');
  });

  test('never touches the run row', async () => {
    const { run, chunkIds } = await assessing([2]);
    const version = async () =>
      (await store.db.query('select xmin::text, xmax::text from muster.runs where id = $1', [run.id])).rows;
    const before = await version();
    const chunkId = chunkIds[0]!;
    const { fence } = (await claimChunk(store.db, { chunkId, dispatchNo: 0 }))!;
    await settleChunk(store.db, { chunkId, fence, subjects: times(2, OK) });
    expect(await version()).toEqual(before);
  });
});
