import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunAcceptance, SubjectSettlement } from '../src/index.ts';
import {
  checkErrorBudget,
  claimChunk,
  claimRun,
  requestCancel,
  sealOverdue,
  settleChunk,
  startCollect,
  stopRun,
  takeDue,
} from '../src/index.ts';
import type { Store, Tenant } from './store.ts';
import { accepted, collected, completed, frozen, newTenant, OK, openStore, reread, times } from './store.ts';

let store: Store;
let owner: Tenant;
beforeAll(async () => {
  store = await openStore();
  owner = await newTenant(store.db);
});
afterAll(() => store.close());

const FAILED: SubjectSettlement = { outcome: 'not_checked', reasonCode: 'timed_out', reason: 'timed out' };

describe('a deadline', () => {
  const deadlineAt = new Date('2026-12-01T00:00:00Z');
  const before = new Date('2026-11-30T23:59:59.999Z');
  const seal = (now: Date, limit = 100) => sealOverdue(store.db, { now, limit });

  test('that has come stops every run that is not over, whatever it is at, and once', async () => {
    const waiting = await accepted(store.db, owner, { deadlineAt });
    const planning = await accepted(store.db, owner, { deadlineAt });
    await claimRun(store.db, { runId: planning.id, phase: 'plan', dispatchNo: 0 });
    const { run: assessing } = await frozen(store.db, await accepted(store.db, owner, { deadlineAt }), [1]);
    const bounded = await accepted(store.db, owner, { deadlineAt, form: 'procedure' });
    const later = await accepted(store.db, owner, { deadlineAt: new Date(deadlineAt.getTime() + 1) });
    await accepted(store.db, owner);

    expect(await seal(before)).toEqual([]);
    const due = [waiting, planning, assessing, bounded].map((run) => run.id);
    expect((await seal(deadlineAt)).sort()).toEqual(due.sort());
    expect(await seal(deadlineAt)).toEqual([]);
    for (const id of due) {
      expect(await reread(store.db, { id, tenant: owner.tenant })).toMatchObject({ stopReason: 'deadline' });
    }
    expect(await reread(store.db, waiting)).toMatchObject({ phase: 'collect', status: 'pending' });
    expect(await reread(store.db, later)).toMatchObject({ stopReason: null });
    await stopRun(store.db, { runId: later.id, stopReason: 'withdrawn' });
  });

  test('leaves alone what is stopped, final, or has nothing left to assess', async () => {
    const cancelled = await accepted(store.db, owner, { deadlineAt });
    await requestCancel(store.db, { tenant: owner.tenant, runId: cancelled.id });
    const { run: collecting } = await frozen(store.db, await accepted(store.db, owner, { deadlineAt }), []);
    await completed(store.db, owner, { deadlineAt });
    expect(await seal(deadlineAt)).toEqual([]);
    expect(await reread(store.db, cancelled)).toMatchObject({ stopReason: 'cancelled' });
    expect(await collected(store.db, collecting)).toMatchObject({ status: 'completed', stopReason: null });
  });

  test('of many runs is kept in bounded steps, the longest overdue first, and by one of those who try at once', async () => {
    const runs = [];
    for (const day of ['03', '01', '02']) {
      runs.push(await accepted(store.db, owner, { deadlineAt: new Date(`2026-10-${day}T00:00:00Z`) }));
    }
    expect(await seal(deadlineAt, 1)).toEqual([runs[1]!.id]);
    const sealed = await Promise.all([1, 2, 3].map(() => seal(deadlineAt)));
    expect(sealed.flat().sort()).toEqual([runs[0]!.id, runs[2]!.id].sort());
  });

  test('is kept for a run whose work somebody holds: a settlement is not waited for', async () => {
    const { run, chunkIds } = await frozen(store.db, await accepted(store.db, owner, { deadlineAt }), [2]);
    const { fence } = (await claimChunk(store.db, { chunkId: chunkIds[0]!, dispatchNo: 0 }))!;
    await store.db.transaction(async (tx) => {
      await settleChunk(tx, { chunkId: chunkIds[0]!, fence, subjects: times(2, OK) });
      expect(await seal(deadlineAt)).toEqual([run.id]);
    });
  });
});

test('a run that somebody holds is left for the next call, and the others are sealed without waiting', async () => {
  const deadlineAt = new Date('2026-08-01T00:00:00Z');
  const [held, free] = [
    await accepted(store.db, owner, { deadlineAt }),
    await accepted(store.db, owner, { deadlineAt }),
  ];
  await store.db.transaction(async (tx) => {
    await tx.query('select from muster.runs where id = $1 for no key update', [held.id]);
    expect(await sealOverdue(store.db, { now: deadlineAt, limit: 10 })).toEqual([free.id]);
  });
  expect(await sealOverdue(store.db, { now: deadlineAt, limit: 10 })).toEqual([held.id]);
});

describe('an error budget', () => {
  const sweep = async (sizes: number[], over: Partial<RunAcceptance>) => {
    const { run, chunkIds } = await frozen(store.db, await accepted(store.db, owner, over), sizes);
    const settle = async (index: number, failed: number) => {
      const chunkId = chunkIds[index]!;
      const { fence } = (await claimChunk(store.db, { chunkId, dispatchNo: 0 }))!;
      const subjects = [...times(failed, FAILED), ...times(sizes[index]! - failed, OK)];
      expect(await settleChunk(store.db, { chunkId, fence, subjects, failed })).toBe('settled');
    };
    const check = (minimumSettled = 0) => checkErrorBudget(store.db, { runId: run.id, minimumSettled });
    return { run, settle, check };
  };

  test('of a number allows that number over all chunks, and not one more', async () => {
    const { run, settle, check } = await sweep([5, 5, 5, 5], { errorBudget: { count: 3 } });
    await settle(0, 2);
    await settle(1, 1);
    expect(await check()).toBe(false);
    await settle(2, 1);
    expect(await check()).toBe(true);
    expect(await check()).toBe(false);
    expect(await reread(store.db, run)).toMatchObject({ stopReason: 'error_budget', phase: 'assess' });
  });

  test('of a percentage is counted over what is settled, and only from the minimum on', async () => {
    const { settle, check } = await sweep([10, 10, 10, 10], { errorBudget: { percent: 10 } });
    await settle(0, 10);
    expect(await check(11)).toBe(false);
    expect(await check(10)).toBe(true);
    const even = await sweep([10, 10, 10], { errorBudget: { percent: 10 } });
    await even.settle(0, 1);
    await even.settle(1, 1);
    expect(await even.check(20)).toBe(false);
  });

  test('counts only what failed, not what was left unchecked for another reason', async () => {
    const { run, chunkIds } = await frozen(
      store.db,
      await accepted(store.db, owner, { errorBudget: { count: 0 } }),
      [3, 1],
    );
    const { fence } = (await claimChunk(store.db, { chunkId: chunkIds[0]!, dispatchNo: 0 }))!;
    await settleChunk(store.db, { chunkId: chunkIds[0]!, fence, subjects: times(3, FAILED) });
    expect(await checkErrorBudget(store.db, { runId: run.id, minimumSettled: 0 })).toBe(false);
  });

  test('is not looked at in a run without one, or with nothing left to assess', async () => {
    const without = await sweep([4, 4], {});
    await without.settle(0, 4);
    expect(await without.check()).toBe(false);
    const through = await sweep([4], { errorBudget: { count: 0 } });
    await through.settle(0, 4);
    await startCollect(store.db, through.run.id);
    expect(await through.check()).toBe(false);
    expect(await reread(store.db, through.run)).toMatchObject({ phase: 'collect', stopReason: null });
  });

  test('that eight settlers break at once stops the run once', async () => {
    const { settle, check } = await sweep([1, 1, 1, 1, 1, 1, 1, 1, 1], { errorBudget: { count: 5 } });
    const stopped = await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        await settle(index, 1);
        return check();
      }),
    );
    expect(stopped.filter(Boolean)).toHaveLength(1);
  });

  test('is told by settlements that cannot count more failures than subjects left unchecked', async () => {
    const { chunkIds } = await frozen(store.db, await accepted(store.db, owner), [2]);
    const { fence } = (await claimChunk(store.db, { chunkId: chunkIds[0]!, dispatchNo: 0 }))!;
    const settled = settleChunk(store.db, { chunkId: chunkIds[0]!, fence, subjects: [OK, FAILED], failed: 2 });
    await expect(settled).rejects.toMatchObject({ code: 'settlement_invalid' });
  });
});

test('what steers a run comes back as it was given', async () => {
  const deadlineAt = new Date('2026-12-24T18:00:00.123Z');
  const run = await accepted(store.db, owner, { deadlineAt, errorBudget: { percent: 0.5 }, canaryPercent: 2.5 });
  expect(run).toMatchObject({ deadlineAt, errorBudgetPercent: 0.5, errorBudgetCount: null, canaryPercent: 2.5 });
  const plain = await accepted(store.db, owner);
  expect(plain).toMatchObject({ deadlineAt: null, errorBudgetPercent: null, canaryPercent: null, dryRun: false });
  expect(plain.scopeKey).toBe(plain.inputDigest);
  expect(await accepted(store.db, owner, { scopeKey: 'nightly' })).toMatchObject({ scopeKey: 'nightly' });
  await takeDue(store.db, { window: 1000 });
});
