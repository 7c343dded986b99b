import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RunAcceptance, SubjectNames, SubjectSettlement } from '../src/index.ts';
import {
  claimChunk,
  claimRun,
  freezeRun,
  invariants,
  pageSubjects,
  requestCancel,
  selectSubjects,
  settleChunk,
  startCollect,
  takeDue,
  writeChunks,
} from '../src/index.ts';
import type { Store, Tenant } from './store.ts';
import { accepted, CANNOT_COVER, collected, names, newTenant, OK, openStore, reread } from './store.ts';

let store: Store;
let owner: Tenant;
beforeEach(async () => {
  store = await openStore();
  owner = await newTenant(store.db);
});
afterEach(() => store.close());

const FAILED: SubjectSettlement = { outcome: 'not_checked', reasonCode: 'subject_failed', reason: 'it failed' };

/** Places 0, 2, 4 are the canary, 1, 3, 5 the rest: each chunk says the places of its subjects. */
const PLACES = [
  [0, 2, 4],
  [1, 3, 5],
] as const;

const namesAt = (places: readonly number[]): SubjectNames[] =>
  places.map((place) => [`subject-${place}`, null, `host-${place % 2}`, place]);

const plan = async (places: readonly (readonly number[])[], total: number, over: Partial<RunAcceptance> = {}) => {
  const run = await accepted(store.db, owner, { canaryPercent: 10, ...over });
  const { fence } = (await claimRun(store.db, { runId: run.id, phase: 'plan', dispatchNo: 0 }))!;
  const chunks = places.map((own, wave) => ({
    id: randomUUID(),
    firstOrdinal: own[0]!,
    size: own.length,
    items: Buffer.from('items'),
    keys: namesAt(own),
    wave,
  }));
  await writeChunks(store.db, { runId: run.id, fence, chunks });
  await freezeRun(store.db, { runId: run.id, fence, total, planSummary: null });
  return { run, ids: chunks.map(({ id }) => id) };
};

const due = async () => (await takeDue(store.db, { window: 100 })).map((item) => item.id);

const settle = async (chunkId: string, subjects: readonly SubjectSettlement[], remainder?: string) => {
  const { fence } = (await claimChunk(store.db, { chunkId, dispatchNo: 99 }))!;
  await settleChunk(store.db, {
    chunkId,
    fence,
    subjects,
    failed: subjects.filter((subject) => subject === FAILED).length,
    ...(remainder !== undefined && { remainder: { id: remainder, items: Buffer.from('rest') } }),
  });
};

describe('the gate behind a canary', () => {
  test('opens when the canary is settled within the budget, and is asked once', async () => {
    const { run, ids } = await plan(PLACES, 6, { errorBudget: { percent: 50 } });
    expect(await due()).toEqual([ids[0]]);
    await settle(ids[0]!, [OK, FAILED, OK]);
    expect(await due()).toEqual([ids[1]]);
    const { rows } = await store.db.query('select canary_passed_at as at from muster.runs where id = $1', [run.id]);
    expect(rows[0]!.at).toBeInstanceOf(Date);
    expect((await reread(store.db, run)).stopReason).toBeNull();
  });

  test.each([{ percent: 50 }, { count: 1 }])(
    'over a budget of %j the run is stopped, before the rest is sent',
    async (errorBudget) => {
      const { run, ids } = await plan(PLACES, 6, { errorBudget });
      await due();
      await settle(ids[0]!, [FAILED, FAILED, OK]);
      // The rest is sent, so that somebody says of it that it was not checked.
      expect(await due()).toEqual([ids[1]]);
      expect((await reread(store.db, run)).stopReason).toBe('error_budget');
      expect((await claimChunk(store.db, { chunkId: ids[1]!, dispatchNo: 99 }))!.run.stopReason).toBe('error_budget');
    },
  );

  test('waits for the rest of a canary that was settled in part', async () => {
    const { run, ids } = await plan(PLACES, 6, { errorBudget: { percent: 50 } });
    await due();
    const rest = randomUUID();
    await settle(ids[0]!, [FAILED], rest);
    expect(await due()).toEqual([rest]);
    expect((await reread(store.db, run)).stopReason).toBeNull();
    await settle(rest, [OK, OK]);
    expect(await due()).toEqual([ids[1]]);
  });

  test('opens without a budget, and for a run that was cancelled', async () => {
    const free = await plan(PLACES, 6);
    await due();
    await settle(free.ids[0]!, [FAILED, FAILED, FAILED]);
    expect(await due()).toEqual([free.ids[1]]);
    const stopped = await plan(PLACES, 6, { errorBudget: { count: 1 } });
    await due();
    await requestCancel(store.db, { tenant: owner.tenant, runId: stopped.run.id });
    await settle(stopped.ids[0]!, [FAILED, FAILED, FAILED]);
    expect(await due()).toEqual([stopped.ids[1]]);
    expect((await reread(store.db, stopped.run)).stopReason).toBe('cancelled');
  });

  test('is not asked when there is nothing behind it', async () => {
    const { run, ids } = await plan([[0, 1, 2]], 3, { errorBudget: { count: 1 } });
    await due();
    await settle(ids[0]!, [FAILED, FAILED, OK]);
    expect(await due()).toEqual([]);
    expect(await startCollect(store.db, run.id)).toBe(true);
  });
});

describe('places of subjects whose chunks stand in each other’s gaps', () => {
  test('are those of the plan, also where a chunk is settled in parts', async () => {
    const { run, ids } = await plan(PLACES, 6);
    await due();
    const rest = randomUUID();
    await settle(ids[0]!, [OK], rest);
    await settle(rest, [OK, CANNOT_COVER]);
    await due();
    await settle(ids[1]!, [OK, OK, OK]);
    await startCollect(store.db, run.id);
    await collected(store.db, run);
    const page = await pageSubjects(store.db, { tenant: owner.tenant, runId: run.id, limit: 10 });
    expect(page!.rows.map(({ ordinal, key, target }) => [ordinal, key, target])).toEqual(
      [0, 1, 2, 3, 4, 5].map((place) => [place, `subject-${place}`, `host-${place % 2}`]),
    );
    const { rows } = await store.db.query<{ first: number }>(
      'select first_ordinal as first from muster.chunks where run_id = $1 order by 1',
      [run.id],
    );
    expect(rows.map(({ first }) => first)).toEqual([0, 1, 2]);
    expect(await invariants(store.db)).toEqual([]);
  });

  test.each([
    [
      'a place twice',
      [
        [0, 2, 3],
        [1, 3, 5],
      ],
    ],
    [
      'a gap',
      [
        [0, 2, 4],
        [1, 3, 6],
      ],
    ],
  ])('%s is refused when the plan is frozen', async (_what, places) => {
    await expect(plan(places, 6)).rejects.toMatchObject({ code: 'ledger_mismatch' });
  });

  test('in one wave they need not be said', async () => {
    const run = await accepted(store.db, owner);
    const { fence } = (await claimRun(store.db, { runId: run.id, phase: 'plan', dispatchNo: 0 }))!;
    const chunks = [{ firstOrdinal: 0, size: 2, items: Buffer.from('x'), keys: names(0, 2) }];
    await writeChunks(store.db, { runId: run.id, fence, chunks });
    expect(await freezeRun(store.db, { runId: run.id, fence, total: 2, planSummary: null })).toBe(true);
  });
});

test('what a rerun chooses becomes a filter of standings, outcomes or keys', () => {
  expect(selectSubjects({ only: ['not_checked', 'problem', 'ok'] })).toEqual({
    standings: ['ok', 'problem'],
    outcomes: ['not_checked'],
  });
  expect(selectSubjects({ only: ['declined'] })).toEqual({ standings: ['declined'], outcomes: [] });
  expect(selectSubjects({ subjects: ['a'] })).toEqual({ keys: ['a'] });
});
