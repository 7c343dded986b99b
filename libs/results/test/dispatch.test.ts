import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { DispatchItem, RunAcceptance } from '../src/index.ts';
import {
  chooseDue,
  claimChunk,
  claimRun,
  finishRun,
  listDispatched,
  redispatch,
  settleChunk,
  startCollect,
  takeDue,
  touchDispatched,
} from '../src/index.ts';
import type { Store, Tenant } from './store.ts';
import { accepted, frozen, newTenant, OK, openStore, reread } from './store.ts';

describe('the choice of what to send', () => {
  const things = fc.array(fc.record({ tenant: fc.constantFrom('a', 'b', 'c'), priority: fc.constantFrom(0, 1, 2) }), {
    maxLength: 40,
  });
  const flying = fc.array(
    fc.record({
      tenant: fc.constantFrom('a', 'b', 'c'),
      priority: fc.constantFrom(0, 1, 2),
      count: fc.integer({ min: 1, max: 9 }),
    }),
    { maxLength: 5 },
  );
  const limit = fc.integer({ min: 1, max: 12 });
  const count = (items: readonly { priority: number; count?: number }[], upTo: number) =>
    items.filter((item) => item.priority <= upTo).reduce((sum, item) => sum + (item.count ?? 1), 0);

  test('never overfills the window or a tenant, and leaves nothing that still fits', () => {
    fc.assert(
      fc.property(things, flying, limit, limit, (candidates, inFlight, window, maxPerTenant) => {
        const chosen = chooseDue(candidates, inFlight, { window, maxPerTenant });
        expect(new Set(chosen).size).toBe(chosen.length);
        for (const priority of [0, 1, 2]) {
          const under = count(inFlight, priority) + count(chosen, priority);
          const added = chosen.some((item) => item.priority === priority);
          if (added) expect(under).toBeLessThanOrEqual(window);
          const left = candidates.filter((item) => item.priority === priority && !chosen.includes(item));
          for (const { tenant } of left) {
            const busy = [...inFlight, ...chosen]
              .filter((item) => item.tenant === tenant && item.priority <= priority)
              .reduce((sum, item) => sum + ('count' in item ? (item.count as number) : 1), 0);
            expect(under >= window || busy >= maxPerTenant).toBe(true);
          }
        }
      }),
    );
  });

  test('keeps the order of each tenant, and sends the more urgent first', () => {
    fc.assert(
      fc.property(things, flying, limit, (candidates, inFlight, window) => {
        const chosen = chooseDue(candidates, inFlight, { window });
        const priorities = chosen.map((item) => item.priority);
        expect(priorities).toEqual([...priorities].sort());
        for (const priority of [0, 1, 2]) {
          for (const tenant of ['a', 'b', 'c']) {
            const own = (items: readonly (typeof candidates)[number][]) =>
              items.filter((item) => item.tenant === tenant && item.priority === priority);
            expect(own(chosen)).toEqual(own(candidates).slice(0, own(chosen).length));
          }
        }
      }),
    );
  });

  test('gives tenants that start level turns that differ by one at most', () => {
    const candidates = Array.from({ length: 90 }, (_, index) => ({ tenant: 'abc'[index % 3]!, priority: 1 }));
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 89 }), (window) => {
        const chosen = chooseDue(candidates, [], { window });
        const shares = ['a', 'b', 'c'].map((tenant) => chosen.filter((item) => item.tenant === tenant).length);
        expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
      }),
    );
  });
});

describe('the outbox', () => {
  let store: Store;
  let owner: Tenant;
  beforeEach(async () => {
    store = await openStore();
    owner = await newTenant(store.db, 'tenant-a');
  });
  afterEach(() => store.close());

  const accept = (tenant: Tenant, second: number, over: Partial<RunAcceptance> = {}) =>
    accepted(store.db, tenant, { acceptedAt: new Date(Date.UTC(2026, 10, 1, 0, 0, second)), ...over });
  const ids = (items: readonly DispatchItem[]) => items.map((item) => item.id);

  test('sends a run once for each of its jobs, under a number that rises', async () => {
    const run = await accept(owner, 0);
    expect(await takeDue(store.db, { window: 10 })).toEqual([
      { kind: 'plan', id: run.id, runId: run.id, dispatchNo: 1, priority: 1, tenant: owner.tenant },
    ]);
    expect(await takeDue(store.db, { window: 10 })).toEqual([]);
    const { chunkIds } = await frozen(store.db, await reread(store.db, run), [1, 1]);
    const chunks = await takeDue(store.db, { window: 10 });
    expect(chunks).toMatchObject(
      chunkIds.map((id) => ({ kind: 'assess', id, runId: run.id, dispatchNo: 1, tenant: owner.tenant })),
    );
    for (const chunk of chunks) {
      const { fence } = (await claimChunk(store.db, { chunkId: chunk.id, dispatchNo: chunk.dispatchNo }))!;
      await settleChunk(store.db, { chunkId: chunk.id, fence, subjects: [OK] });
    }
    await startCollect(store.db, run.id);
    expect(await takeDue(store.db, { window: 10 })).toMatchObject([{ kind: 'collect', id: run.id, dispatchNo: 2 }]);
    const { fence } = (await claimRun(store.db, { runId: run.id, phase: 'collect', dispatchNo: 2 }))!;
    const answer = { kind: 'envelope' as const, body: {} };
    await finishRun(store.db, { runId: run.id, fence, status: 'completed', answer });
    expect(await listDispatched(store.db, { olderThan: new Date(Date.now() + 60_000), limit: 10 })).toEqual([]);
  });

  test('keeps within its window, counts what is not done, and goes on when something is', async () => {
    const runs = [];
    for (let second = 0; second < 5; second += 1) runs.push(await accept(owner, second, { form: 'procedure' }));
    const first = await takeDue(store.db, { window: 3 });
    expect(ids(first)).toEqual(runs.slice(0, 3).map((run) => run.id));
    expect(await takeDue(store.db, { window: 3 })).toEqual([]);
    const { fence } = (await claimRun(store.db, { runId: first[0]!.id, phase: 'procedure', dispatchNo: 1 }))!;
    expect(await takeDue(store.db, { window: 3 })).toEqual([]);
    const answer = { kind: 'envelope' as const, body: {} };
    await finishRun(store.db, { runId: first[0]!.id, fence, status: 'completed', answer });
    expect(ids(await takeDue(store.db, { window: 3 }))).toEqual([runs[3]!.id]);
  });

  test('sends the interactive first, also when its window is full of sweeps', async () => {
    for (let second = 0; second < 4; second += 1) await accept(owner, second, { priority: 2 });
    expect(await takeDue(store.db, { window: 3 })).toHaveLength(3);
    const urgent = await accept(owner, 9, { priority: 0 });
    expect(ids(await takeDue(store.db, { window: 3 }))).toEqual([urgent.id]);
    expect(await takeDue(store.db, { window: 3 })).toEqual([]);
  });

  test('is fair over tenants: one with a great sweep leaves room for one that comes later', async () => {
    const { chunkIds } = await frozen(
      store.db,
      await accept(owner, 0),
      Array.from({ length: 50 }, () => 1),
    );
    expect(ids(await takeDue(store.db, { window: 4 }))).toEqual(chunkIds.slice(0, 4));
    const late = await newTenant(store.db, 'tenant-b');
    const runs = [await accept(late, 5), await accept(late, 6), await accept(late, 7), await accept(late, 8)];
    expect(ids(await takeDue(store.db, { window: 8 }))).toEqual(runs.map((run) => run.id));
    const next = await takeDue(store.db, { window: 12 });
    expect(next.map((item) => item.tenant)).toEqual(['tenant-a', 'tenant-a', 'tenant-a', 'tenant-a']);
  });

  test('finds the due things of every tenant, and keeps each under its own limit', async () => {
    for (const name of ['tenant-c', 'tenant-d', 'tenant-e']) {
      const tenant = await newTenant(store.db, name);
      for (let second = 0; second < 4; second += 1) await accept(tenant, second);
    }
    const taken = await takeDue(store.db, { window: 100, maxPerTenant: 2 });
    expect(taken.map((item) => item.tenant).sort()).toEqual(
      ['tenant-c', 'tenant-d', 'tenant-e'].flatMap((name) => [name, name]),
    );
    expect(await takeDue(store.db, { window: 100, maxPerTenant: 2 })).toEqual([]);
  });

  test('gives nothing twice when many dispatchers take at once', async () => {
    for (let second = 0; second < 20; second += 1) await accept(owner, second);
    const rounds = await Promise.all(Array.from({ length: 8 }, () => takeDue(store.db, { window: 100 })));
    const taken = ids(rounds.flat());
    expect(new Set(taken).size).toBe(taken.length);
    expect(taken.length + (await takeDue(store.db, { window: 100 })).length).toBe(20);
  });

  test('sends what got lost again under a new number, and leaves alone what has moved on or lives', async () => {
    const sentAt = new Date('2026-11-01T10:00:00Z');
    const [lost, alive, again] = [await accept(owner, 0), await accept(owner, 1), await accept(owner, 2)];
    const sent = await takeDue(store.db, { window: 10, now: sentAt });
    expect(await listDispatched(store.db, { olderThan: sentAt, limit: 10 })).toEqual([]);
    const old = await listDispatched(store.db, { olderThan: new Date(sentAt.getTime() + 1), limit: 10 });
    expect(old.map((item) => [item.id, item.dispatchNo]).sort()).toEqual(
      sent.map((item) => [item.id, item.dispatchNo]).sort(),
    );
    const item = (run: { id: string }) => old.filter(({ id }) => id === run.id);
    expect(await touchDispatched(store.db, item(alive!), new Date('2026-11-01T11:00:00Z'))).toBe(1);
    expect(await redispatch(store.db, item(lost!))).toBe(1);
    expect(await redispatch(store.db, item(again!))).toBe(1);
    const resent = await takeDue(store.db, { window: 10, now: sentAt });
    expect(resent.map(({ id, dispatchNo }) => [id, dispatchNo])).toEqual([
      [lost!.id, 2],
      [again!.id, 2],
    ]);
    expect(await redispatch(store.db, item(again!))).toBe(0);
    expect(await claimRun(store.db, { runId: again!.id, phase: 'plan', dispatchNo: 1 })).toBeUndefined();
    const due = await listDispatched(store.db, { olderThan: new Date('2026-11-01T10:30:00Z'), limit: 10 });
    expect(ids(due).sort()).toEqual([lost!.id, again!.id].sort());
  });

  test('finds lost chunks too, and forgets them when they are settled', async () => {
    const { chunkIds } = await frozen(store.db, await accept(owner, 0), [1]);
    const sentAt = new Date('2026-11-01T10:00:00Z');
    const sent = await takeDue(store.db, { window: 10, now: sentAt });
    const olderThan = new Date(sentAt.getTime() + 1);
    expect(await listDispatched(store.db, { olderThan, limit: 10 })).toEqual(sent);
    const { fence } = (await claimChunk(store.db, { chunkId: chunkIds[0]!, dispatchNo: 1 }))!;
    await settleChunk(store.db, { chunkId: chunkIds[0]!, fence, subjects: [OK] });
    expect(await listDispatched(store.db, { olderThan, limit: 10 })).toEqual([]);
    expect(await redispatch(store.db, sent)).toBe(0);
  });
});
