import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunRecord, SubjectSelection, SubjectSettlement } from '../src/index.ts';
import {
  claimChunk,
  claimRun,
  freezeRun,
  invariants,
  listEvents,
  runProgress,
  settleChunk,
  startCollect,
  subjectKeysOf,
  takeDue,
  writeChunks,
} from '../src/index.ts';
import type { Store, Tenant } from './store.ts';
import {
  accepted,
  CANNOT_COVER,
  collected,
  DECLINED,
  frozen,
  NOT_CHECKED,
  names,
  newTenant,
  OK,
  openStore,
  PROBLEM,
  refusal,
} from './store.ts';

let store: Store;
let owner: Tenant;
beforeAll(async () => {
  store = await openStore();
  owner = await newTenant(store.db);
});
afterAll(() => store.close());

describe('a dry run', () => {
  test('counts its subjects, assesses none, and comes to its end', async () => {
    const accept = await accepted(store.db, owner, { dryRun: true });
    const { run, chunkIds } = await frozen(store.db, accept, [2, 3]);
    expect(run).toMatchObject({ dryRun: true, phase: 'collect', subjectsTotal: 5, planSummary: { pages: 1 } });
    expect(await claimChunk(store.db, { chunkId: chunkIds[0]!, dispatchNo: 99 })).toBeUndefined();
    expect((await takeDue(store.db, { window: 10 })).map(({ kind, id }) => [kind, id])).toEqual([['collect', run.id]]);
    expect(await runProgress(store.db, { tenant: owner.tenant, runId: run.id })).toMatchObject({
      total: 5,
      settled: 0,
      openChunks: 0,
    });
    expect(await collected(store.db, run)).toMatchObject({ status: 'completed', subjectsTotal: 5 });
    const history = await listEvents(store.db, { tenant: owner.tenant, runId: run.id, limit: 10 });
    expect(history!.entries.map((entry) => entry.message)).toContain('5 subjects counted');
    expect(await invariants(store.db)).toEqual([]);
  });

  test('that does not add up is refused like any other plan', async () => {
    const run = await accepted(store.db, owner, { dryRun: true });
    const { fence } = (await claimRun(store.db, { runId: run.id, phase: 'plan', dispatchNo: 0 }))!;
    const chunks = [{ firstOrdinal: 0, size: 2, items: Buffer.from('x'), keys: names(0, 2) }];
    await writeChunks(store.db, { runId: run.id, fence, chunks });
    const freezing = freezeRun(store.db, { runId: run.id, fence, total: 3, planSummary: null });
    await expect(freezing).rejects.toMatchObject({ code: 'ledger_mismatch' });
  });

  test('is never assessed, not even by a worker that does not know of dry runs, and never bounded', async () => {
    const run = await accepted(store.db, owner, { dryRun: true });
    await claimRun(store.db, { runId: run.id, phase: 'plan', dispatchNo: 0 });
    const assessing = store.db.query(
      `update muster.runs set phase = 'assess', frozen_at = now(), subjects_total = 1, plan_fence = fence where id = $1`,
      [run.id],
    );
    expect(await refusal(assessing)).toBe('runs_dry_run_assesses_nothing');
    const bounded = accepted(store.db, owner, { dryRun: true, form: 'procedure' });
    expect(await refusal(bounded)).toBe('runs_dry_run_assesses_nothing');
  });
});

describe('the keys of a run', () => {
  const kinds: SubjectSettlement[] = [OK, PROBLEM, DECLINED, NOT_CHECKED, CANNOT_COVER];
  let run: RunRecord;

  const keysOf = async (selection: SubjectSelection) => {
    const keys: string[] = [];
    for await (const key of subjectKeysOf(store.db, { tenant: owner.tenant, runId: run.id, ...selection })) {
      keys.push(key);
    }
    return keys;
  };

  beforeAll(async () => {
    const sizes = [1_000, 1_505];
    const { run: assessing, chunkIds } = await frozen(store.db, await accepted(store.db, owner), sizes);
    run = assessing;
    for (const [index, chunkId] of chunkIds.entries()) {
      const { fence } = (await claimChunk(store.db, { chunkId, dispatchNo: 0 }))!;
      const subjects = Array.from({ length: sizes[index]! }, (_, place) => kinds[place % kinds.length]!);
      await settleChunk(store.db, { chunkId, fence, subjects });
    }
    await startCollect(store.db, run.id);
    await collected(store.db, run);
  });

  test('come by standing and outcome together, in order, over many pages', async () => {
    const all = names(0, 2_505).map(([key]) => key);
    const ending = (...wanted: SubjectSettlement[]) => all.filter((_, place) => wanted.includes(kinds[place % 5]!));
    expect(await keysOf({})).toEqual(all);
    expect(await keysOf({ standings: ['problem'] })).toEqual(ending(PROBLEM));
    expect(await keysOf({ outcomes: ['not_checked'] })).toEqual(ending(NOT_CHECKED));
    expect(await keysOf({ standings: ['problem', 'declined'], outcomes: ['not_checked', 'cannot_cover'] })).toEqual(
      ending(PROBLEM, DECLINED, NOT_CHECKED, CANNOT_COVER),
    );
    expect(await keysOf({ standings: [] })).toEqual([]);
  });

  test('come for a page of a plan, so that a rerun holds no more than that', async () => {
    const keys = ['subject-6', 'subject-1', 'subject-0', 'subject-9999'];
    expect(await keysOf({ keys })).toEqual(['subject-0', 'subject-1', 'subject-6']);
    expect(await keysOf({ keys, standings: ['problem'] })).toEqual(['subject-1', 'subject-6']);
    expect(await keysOf({ keys: [] })).toEqual([]);
  });

  test('are what a linked run does again: it names its source and what was chosen', async () => {
    const selection = { only: ['problem', 'not_checked'], subjects: [] };
    const again = await accepted(store.db, owner, { rerun: { of: run.id, selection } });
    expect(again.rerunOf).toBe(run.id);
    expect(JSON.stringify(again.rerunSelection)).toBe(JSON.stringify(selection));
    const elsewhere = { keyId: owner.keyId, name: 'elsewhere' };
    const other = await accepted(store.db, owner, { rerun: { of: run.id, selection }, session: elsewhere });
    expect(other.sessionId).not.toBe(run.sessionId);
  });
});
