import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  claimChunk,
  claimRun,
  finishRun,
  listEvents,
  readStopReasons,
  requestCancel,
  settleChunk,
  startCollect,
  stopPlan,
  stopRun,
  takeDue,
  writeChunks,
} from '../src/index.ts';
import type { Store, Tenant } from './store.ts';
import { accepted, frozen, NOT_CHECKED, names, newTenant, openStore, refusal, reread, times } from './store.ts';

let store: Store;
let owner: Tenant;
beforeAll(async () => {
  store = await openStore();
  owner = await newTenant(store.db);
});
afterAll(() => store.close());

const cancel = (runId: string, reason?: string) => requestCancel(store.db, { tenant: owner.tenant, runId, reason });
const envelope = { kind: 'envelope' as const, body: {} };

describe('a cancel', () => {
  test('of a pending fleet sends it to collect, and it ends cancelled without ever having started', async () => {
    const run = await accepted(store.db, owner);
    expect(await cancel(run.id, '  too\u0007 late  ')).toMatchObject({
      outcome: 'requested',
      run: { status: 'pending', phase: 'collect', stopReason: 'cancelled', cancelReason: 'too late' },
    });
    expect(await claimRun(store.db, { runId: run.id, phase: 'plan', dispatchNo: 9 })).toBeUndefined();
    const claim = (await claimRun(store.db, { runId: run.id, phase: 'collect', dispatchNo: 0 }))!;
    expect(claim.run).toMatchObject({ status: 'pending', startedAt: null });
    await finishRun(store.db, { runId: run.id, fence: claim.fence, status: 'cancelled', answer: envelope });
    const history = await listEvents(store.db, { tenant: owner.tenant, runId: run.id, limit: 10 });
    expect(history!.entries.map((entry) => [entry.kind, entry.runStatus])).toEqual([['run_cancelled', 'cancelled']]);
  });

  test('of a pending procedure leaves it to its job, which ends it cancelled', async () => {
    const run = await accepted(store.db, owner, { form: 'procedure' });
    expect(await cancel(run.id)).toMatchObject({ run: { phase: 'procedure', cancelReason: 'cancel requested' } });
    const claim = (await claimRun(store.db, { runId: run.id, phase: 'procedure', dispatchNo: 0 }))!;
    expect(claim.run).toMatchObject({ status: 'pending', stopReason: 'cancelled' });
    const finish = { runId: run.id, fence: claim.fence, status: 'cancelled' as const, answer: envelope };
    expect(await finishRun(store.db, finish)).toBe('finished');
  });

  test('of a plan in progress lets the plan go to collect without a denominator', async () => {
    const run = await accepted(store.db, owner);
    const { fence } = (await claimRun(store.db, { runId: run.id, phase: 'plan', dispatchNo: 0 }))!;
    const chunks = [{ firstOrdinal: 0, size: 1, items: Buffer.from('x'), keys: names(0, 1) }];
    await writeChunks(store.db, { runId: run.id, fence, chunks });
    expect(await stopPlan(store.db, { runId: run.id, fence })).toBe(false);
    expect(await cancel(run.id)).toMatchObject({ outcome: 'requested', run: { phase: 'plan', status: 'running' } });
    expect(await stopPlan(store.db, { runId: run.id, fence: fence + 1 })).toBe(false);
    expect(await stopPlan(store.db, { runId: run.id, fence })).toBe(true);
    expect(await reread(store.db, run)).toMatchObject({ phase: 'collect', frozenAt: null, subjectsTotal: null });
    const { rows } = await store.db.query('select id from muster.chunks where run_id = $1', [run.id]);
    expect(rows).toEqual([]);
  });

  test('of an assessment is settled through its chunks and ends in collect', async () => {
    const { run, chunkIds } = await frozen(store.db, await accepted(store.db, owner), [2]);
    expect(await cancel(run.id)).toMatchObject({ outcome: 'requested', run: { phase: 'assess' } });
    const claim = (await claimChunk(store.db, { chunkId: chunkIds[0]!, dispatchNo: 0 }))!;
    expect(claim.run.stopReason).toBe('cancelled');
    const subjects = times(2, NOT_CHECKED);
    await settleChunk(store.db, { chunkId: chunkIds[0]!, fence: claim.fence, subjects });
    expect(await startCollect(store.db, run.id)).toBe(true);
  });

  test('is asked once, and told the second time', async () => {
    const run = await accepted(store.db, owner);
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => cancel(run.id)));
    expect(outcomes.map((outcome) => outcome.outcome).sort()).toEqual([
      ...Array.from({ length: 4 }, () => 'already_requested'),
      'requested',
    ]);
  });

  test('of a cancelled run is idempotent, and of a completed or failed one a conflict', async () => {
    for (const [status, expected] of [
      ['cancelled', { outcome: 'already_cancelled' }],
      ['completed', { outcome: 'conflict', status: 'completed' }],
      ['failed', { outcome: 'conflict', status: 'failed' }],
    ] as const) {
      const run = await accepted(store.db, owner, { form: 'procedure' });
      const { fence } = (await claimRun(store.db, { runId: run.id, phase: 'procedure', dispatchNo: 0 }))!;
      if (status === 'cancelled') await cancel(run.id);
      await finishRun(store.db, { runId: run.id, fence, status, answer: envelope });
      expect(await cancel(run.id)).toMatchObject(expected);
    }
  });

  test('of a run that is foreign or not there is not found', async () => {
    const run = await accepted(store.db, owner);
    const stranger = await newTenant(store.db);
    expect(await cancel(randomUUID())).toEqual({ outcome: 'not_found' });
    expect(await requestCancel(store.db, { tenant: stranger.tenant, runId: run.id })).toEqual({ outcome: 'not_found' });
    const elsewhere = { tenant: owner.tenant, sessionId: stranger.sessionId, runId: run.id };
    expect(await requestCancel(store.db, elsewhere)).toEqual({ outcome: 'not_found' });
  });

  test('of an interrupted run sends it again, so that somebody ends it', async () => {
    const { run, fence } = await frozen(store.db, await accepted(store.db, owner), []);
    await takeDue(store.db, { window: 1000 });
    await store.db.query(
      `update muster.runs set status = 'interrupted', revision = revision + 1 where id = $1 and fence = $2`,
      [run.id, fence],
    );
    expect(await claimRun(store.db, { runId: run.id, phase: 'collect', dispatchNo: 9 })).toBeUndefined();
    await cancel(run.id);
    const due = await takeDue(store.db, { window: 1000 });
    expect(due.map((item) => item.id)).toContain(run.id);
    const claim = (await claimRun(store.db, { runId: run.id, phase: 'collect', dispatchNo: 9 }))!;
    const finish = { runId: run.id, fence: claim.fence, status: 'cancelled' as const, answer: envelope };
    expect(await finishRun(store.db, finish)).toBe('finished');
  });

  test('has a reason of at most 512 bytes, cut between characters', async () => {
    const run = await accepted(store.db, owner);
    const outcome = await cancel(run.id, 'ü'.repeat(400));
    expect(outcome).toMatchObject({ run: { cancelReason: `${'ü'.repeat(254)}…` } });
  });
});

describe('a stop of our own', () => {
  test('keeps its first reason, and a cancel goes over it', async () => {
    const run = await accepted(store.db, owner);
    await claimRun(store.db, { runId: run.id, phase: 'plan', dispatchNo: 0 });
    expect(await stopRun(store.db, { runId: run.id, stopReason: 'deadline' })).toBe('stopped');
    expect(await stopRun(store.db, { runId: run.id, stopReason: 'error_budget' })).toBe('already_stopped');
    expect((await reread(store.db, run)).stopReason).toBe('deadline');
    expect(await cancel(run.id)).toMatchObject({ outcome: 'requested', run: { stopReason: 'cancelled' } });
  });

  test('of a fleet that waits goes to collect, which starts it so that it may complete', async () => {
    const run = await accepted(store.db, owner);
    await stopRun(store.db, { runId: run.id, stopReason: 'deadline' });
    const claim = (await claimRun(store.db, { runId: run.id, phase: 'collect', dispatchNo: 0 }))!;
    expect(claim.run.status).toBe('running');
    const finish = { runId: run.id, fence: claim.fence, status: 'completed' as const, answer: envelope };
    expect(await finishRun(store.db, finish)).toBe('finished');
    expect(await stopRun(store.db, { runId: run.id, stopReason: 'deadline' })).toBe('final');
  });

  test('is read by those who work on the run, for many runs at once', async () => {
    const [stopped, cancelled, going] = [
      await accepted(store.db, owner),
      await accepted(store.db, owner),
      await accepted(store.db, owner),
    ];
    await stopRun(store.db, { runId: stopped.id, stopReason: 'withdrawn' });
    await cancel(cancelled.id);
    const reasons = await readStopReasons(store.db, [stopped.id, cancelled.id, going.id]);
    expect(Object.fromEntries(reasons)).toEqual({ [stopped.id]: 'withdrawn', [cancelled.id]: 'cancelled' });
    expect(await readStopReasons(store.db, [])).toEqual([]);
  });

  test('never ends a run as cancelled', async () => {
    const run = await accepted(store.db, owner);
    await stopRun(store.db, { runId: run.id, stopReason: 'deadline' });
    const claim = (await claimRun(store.db, { runId: run.id, phase: 'collect', dispatchNo: 0 }))!;
    const finish = { runId: run.id, fence: claim.fence, status: 'cancelled' as const, answer: envelope };
    expect(await refusal(finishRun(store.db, finish))).toBe('runs_cancelled_was_asked');
    expect(await reread(store.db, run)).toMatchObject({ status: 'running', answerKind: null });
  });
});
