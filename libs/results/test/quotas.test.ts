import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { withinChunkQuotas } from '../src/choose-due.ts';
import type { TenantQuota } from '../src/index.ts';
import {
  acceptRun,
  chooseDue,
  claimRun,
  freezeRun,
  getTenantQuota,
  listRuns,
  setTenantQuota,
  takeDue,
  writeChunks,
} from '../src/index.ts';
import type { Store, Tenant } from './store.ts';
import { acceptance, accepted, completed, frozen, names, newTenant, openStore, reread } from './store.ts';

let store: Store;
beforeAll(async () => {
  store = await openStore();
});
afterAll(() => store.close());

const limited = async (over: Partial<TenantQuota>): Promise<Tenant> => {
  const owner = await newTenant(store.db);
  const none = { maxOpenRuns: null, maxSubjectsPerRun: null, maxInFlightChunks: null };
  await setTenantQuota(store.db, { tenant: owner.tenant, ...none, ...over });
  return owner;
};

test('a quota is set whole and read back, and a tenant without one has none', async () => {
  const owner = await limited({ maxOpenRuns: 2, maxInFlightChunks: 7 });
  expect(await getTenantQuota(store.db, owner.tenant)).toEqual({
    maxOpenRuns: 2,
    maxSubjectsPerRun: null,
    maxInFlightChunks: 7,
  });
  const none = { maxOpenRuns: null, maxSubjectsPerRun: 3, maxInFlightChunks: null };
  await setTenantQuota(store.db, { tenant: owner.tenant, ...none });
  expect(await getTenantQuota(store.db, owner.tenant)).toEqual(none);
  expect(await getTenantQuota(store.db, 'nobody')).toBeUndefined();
});

describe('open runs', () => {
  test('are as many as the quota allows, however many requests come at once, and one that ends makes room', async () => {
    const owner = await limited({ maxOpenRuns: 3 });
    const done = await completed(store.db, owner);
    const outcomes = await Promise.all(
      Array.from({ length: 12 }, () => acceptRun(store.db, acceptance(owner, { form: 'procedure' }))),
    );
    const refused = outcomes.filter((outcome) => outcome.outcome === 'quota_exceeded');
    expect(refused).toHaveLength(9);
    expect(refused[0]).toEqual({ outcome: 'quota_exceeded', quota: 'max_open_runs', limit: 3 });
    expect((await listRuns(store.db, { tenant: owner.tenant, limit: 100 })).runs).toHaveLength(4);
    const before = await reread(store.db, done);
    expect(before.status).toBe('completed');
    const other = await newTenant(store.db);
    expect((await acceptRun(store.db, acceptance(other))).outcome).toBe('accepted');
  });

  test('that are asked for again under their key are found, also when there is no room for another', async () => {
    const owner = await limited({ maxOpenRuns: 1 });
    const idempotency = { key: 'k', digest: 'body' };
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, () => acceptRun(store.db, acceptance(owner, { idempotency }))),
    );
    expect(outcomes.map((outcome) => outcome.outcome).sort()).toEqual([
      'accepted',
      ...Array.from({ length: 7 }, () => 'replayed'),
    ]);
    expect((await acceptRun(store.db, acceptance(owner))).outcome).toBe('quota_exceeded');
  });

  test('a refusal writes nothing', async () => {
    const owner = await limited({ maxOpenRuns: 0 });
    const definition = { digest: 'def-of-nobody', name: 'x', version: '1', declaration: {} };
    expect((await acceptRun(store.db, acceptance(owner, { definition }))).outcome).toBe('quota_exceeded');
    const { rows } = await store.db.query(`select digest from muster.definitions where digest = 'def-of-nobody'`);
    expect(rows).toEqual([]);
  });
});

test('a plan with more subjects than the quota allows is not frozen, and says so', async () => {
  const owner = await limited({ maxSubjectsPerRun: 2 });
  const run = await accepted(store.db, owner);
  const { fence } = (await claimRun(store.db, { runId: run.id, phase: 'plan', dispatchNo: 0 }))!;
  const chunk = { firstOrdinal: 0, size: 3, items: Buffer.from('x'), keys: names(0, 3) };
  await writeChunks(store.db, { runId: run.id, fence, chunks: [chunk] });
  const freezing = freezeRun(store.db, { runId: run.id, fence, total: 3, planSummary: null });
  await expect(freezing).rejects.toMatchObject({
    code: 'quota_exceeded',
    quota: 'max_subjects_per_run',
    limit: 2,
    message: expect.stringContaining('3 is over'),
  });
  expect(await reread(store.db, run)).toMatchObject({ phase: 'plan', frozenAt: null });
  expect((await frozen(store.db, await accepted(store.db, owner), [2])).run.phase).toBe('assess');
});

describe('chunks under way', () => {
  test('are as many as the quota allows over all priorities, the urgent first, and runs do not count', async () => {
    const owner = await limited({ maxInFlightChunks: 3 });
    const sweep = await frozen(store.db, await accepted(store.db, owner, { priority: 2 }), [1, 1, 1, 1, 1]);
    const take = async () => (await takeDue(store.db, { window: 50 })).filter((item) => item.tenant === owner.tenant);
    expect((await take()).map((item) => item.id)).toEqual(sweep.chunkIds.slice(0, 3));
    const urgent = await frozen(store.db, await accepted(store.db, owner, { priority: 0 }), [1, 1]);
    const plan = await accepted(store.db, owner, { priority: 1 });
    expect((await take()).map((item) => item.id)).toEqual([plan.id]);
    await store.db.query(
      `update muster.chunks set state = 'settled', settled_at = now(), items = null, ok_count = 1 where id = $1`,
      [sweep.chunkIds[0]],
    );
    expect((await take()).map((item) => item.id)).toEqual([urgent.chunkIds[0]]);
  });

  test('never pass a quota, and what is left out is less urgent or later than what is kept', () => {
    const candidates = fc.array(
      fc.record({
        tenant: fc.constantFrom('a', 'b', 'c'),
        priority: fc.constantFrom(0, 1, 2),
        kind: fc.constantFrom('assess', 'plan'),
      }),
      { maxLength: 40 },
    );
    const flying = fc.array(
      fc.record({
        tenant: fc.constantFrom('a', 'b', 'c'),
        priority: fc.constantFrom(0, 1, 2),
        count: fc.constant(9),
        chunks: fc.integer({ min: 0, max: 9 }),
      }),
      { maxLength: 5 },
    );
    const quotas = fc.uniqueArray(fc.tuple(fc.constantFrom('a', 'b'), fc.integer({ min: 0, max: 12 })), {
      selector: ([tenant]) => tenant,
    });
    fc.assert(
      fc.property(candidates, flying, quotas, (due, inFlight, limits) => {
        const maxChunks = new Map<string, number>(limits);
        const kept = withinChunkQuotas(due, inFlight, maxChunks);
        expect(kept).toEqual(due.filter((item) => kept.includes(item)));
        const left = due.filter((item) => !kept.includes(item));
        for (const item of left) {
          expect(item.kind).toBe('assess');
          expect(maxChunks.has(item.tenant)).toBe(true);
        }
        for (const [tenant, limit] of maxChunks) {
          const under = inFlight.filter((item) => item.tenant === tenant).reduce((sum, item) => sum + item.chunks, 0);
          const chunks = kept.filter((item) => item.tenant === tenant && item.kind === 'assess');
          if (chunks.length > 0) expect(under + chunks.length).toBeLessThanOrEqual(limit);
          const out = left.filter((item) => item.tenant === tenant);
          if (out.length > 0) expect(under + chunks.length).toBeGreaterThanOrEqual(limit);
          for (const item of out) {
            for (const other of chunks) {
              const later = item.priority === other.priority && due.indexOf(item) > due.indexOf(other);
              expect(item.priority > other.priority || later).toBe(true);
            }
          }
        }
        const chosen = chooseDue(kept, inFlight, { window: 1000 });
        expect(new Set(chosen)).toEqual(new Set(kept));
      }),
    );
  });
});
