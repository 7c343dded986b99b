/** Limits of tools over all workers (see the heads of tool-permits.ts, share-slots.ts and reserve-starts.ts). */

import { manualClock } from '@muster/testkit';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exchangePermits, openDatabase, type PermitRequest, releasePermits, sweepToolLimits } from '../src/index.ts';
import { AHEAD_MS, type RateBook, reserveStarts } from '../src/reserve-starts.ts';
import { type SlotHolder, shareSlots, TURN_MS } from '../src/share-slots.ts';
import { openStore, type Store } from './store.ts';

let store: Store;
beforeAll(async () => {
  store = await openStore();
});
afterAll(() => store.close());

let tools = 0;
/** A tool that no other test uses. */
const newTool = () => `tool-${++tools}`;
const LEASE_MS = 10_000;

/** One worker's exchange about one tool, or about one target of it. */
function exchange(
  holder: string,
  tool: string,
  ask: Partial<PermitRequest['limits'][number]> & { now?: Date; pauseMs?: number },
) {
  const { now, pauseMs, ...demand } = ask;
  const limited = { tool, target: ask.target ?? null };
  return exchangePermits(store.db, {
    holder,
    leaseMs: LEASE_MS,
    limits: [{ inUse: 0, wanted: 0, ...demand, ...limited }],
    starts: [],
    pauses: pauseMs === undefined ? [] : [{ ...limited, forMs: pauseMs }],
    ...(now !== undefined && { now }),
  }).then(({ limits }) => limits[0]!);
}

describe('slots', () => {
  test('are never more than the limit, whatever workers want and whenever their calls end', () => {
    const step = fc.record({ who: fc.nat({ max: 4 }), wanted: fc.nat({ max: 12 }), ended: fc.nat({ max: 12 }) });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.array(step, { maxLength: 60 }), (limit, steps) => {
        const held = new Map<number, SlotHolder>();
        const inUse = new Map<number, number>();
        for (const [index, { who, wanted, ended }] of steps.entries()) {
          const using = Math.max(0, (inUse.get(who) ?? 0) - ended);
          const others = [...held].filter(([holder]) => holder !== who).map(([, holder]) => holder);
          const ask = { holder: `${who}`, inUse: using, wanted: Math.max(using, wanted) };
          const { holder: share, may } = shareSlots(limit, held.get(who), ask, others, index * 100);
          held.set(who, share);
          inUse.set(who, Math.max(using, Math.min(may, ask.wanted)));
          expect(may).toBeLessThanOrEqual(ask.wanted);
          expect([...held.values()].reduce((sum, { slots }) => sum + slots, 0)).toBeLessThanOrEqual(limit);
          expect([...inUse.values()].reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(limit);
        }
      }),
    );
  });

  test('come to an even share for everybody who wants one, and none is left lying', () => {
    const wants = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(fc.integer({ min: 5, max: 40 }), wants, (limit, wanted) => {
        const held: (SlotHolder | undefined)[] = wanted.map(() => undefined);
        // Calls end between any two exchanges, so nothing keeps a worker over its share.
        for (let round = 0; round < 2 * wanted.length + 1; round++) {
          for (const [who, want] of wanted.entries()) {
            const others = held.filter((holder, index) => index !== who && holder !== undefined);
            held[who] = shareSlots(
              limit,
              held[who],
              { holder: `${who}`, inUse: 0, wanted: want },
              others as SlotHolder[],
              round,
            ).holder;
          }
        }
        const slots = held.map((holder) => holder?.slots ?? 0);
        const total = slots.reduce((sum, count) => sum + count, 0);
        expect(total).toBe(
          Math.min(
            limit,
            wanted.reduce((sum, want) => sum + want, 0),
          ),
        );
        const unsatisfied = slots.filter((count, who) => count < wanted[who]!);
        expect(Math.max(...slots)).toBeLessThanOrEqual(Math.min(...unsatisfied, 40) + 1);
      }),
    );
  });

  test('go round where there are fewer than workers that want one, also while calls go on as a turn ends', () => {
    const held: (SlotHolder | undefined)[] = [undefined, undefined, undefined, undefined];
    const begun = [0, 0, 0, 0];
    const inUse = [0, 0, 0, 0];
    for (let round = 0; round < 200; round++) {
      for (const who of held.keys()) {
        const others = held.filter((holder, index) => index !== who && holder !== undefined) as SlotHolder[];
        const ask = { holder: `${who}`, inUse: inUse[who]!, wanted: 3 };
        const share = shareSlots(2, held[who], ask, others, (round * TURN_MS) / 5 + who);
        held[who] = share.holder;
        // A call lasts until the next question and the one after that.
        const begins = Math.max(0, share.may - inUse[who]!);
        begun[who]! += begins;
        inUse[who] = inUse[who]! > 0 && round % 2 === 0 ? inUse[who]! - 1 : inUse[who]! + begins;
        expect(inUse.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(2);
      }
    }
    const total = begun.reduce((sum, count) => sum + count, 0);
    for (const count of begun) expect(count).toBeGreaterThan(total / 8);
  });

  test('are never more than the limit while many workers ask at once', async () => {
    const tool = newTool();
    const limit = 7;
    const using = new Map<string, number>();
    let most = 0;
    const worker = async (holder: string) => {
      let slots = 0;
      for (let round = 0; round < 12; round++) {
        // What is under way before the question ends before it is asked or stays for it.
        const inUse = Math.min(slots, round % 3);
        using.set(holder, inUse);
        ({ slots } = await exchange(holder, tool, { concurrency: limit, inUse, wanted: 1 + (round % 5) }));
        using.set(holder, slots);
        most = Math.max(
          most,
          [...using.values()].reduce((sum, count) => sum + count, 0),
        );
      }
      using.set(holder, 0);
      await exchange(holder, tool, { concurrency: limit });
    };
    await Promise.all(Array.from({ length: 9 }, (_, index) => worker(`worker-${index}`)));
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThanOrEqual(limit);
    const { rows } = await store.db.query('select 1 from muster.tool_permits where tool = $1', [tool]);
    expect(rows).toEqual([]);
  });

  test('of a worker that is gone are free when its lease is over, and not before', async () => {
    const tool = newTool();
    const clock = manualClock();
    const ask = (holder: string, wanted: number) =>
      exchange(holder, tool, { concurrency: 3, wanted, now: clock.now() }).then(({ slots }) => slots);
    expect(await ask('gone', 3)).toBe(3);
    clock.advance(LEASE_MS - 1);
    expect(await ask('living', 3)).toBe(0);
    clock.advance(1);
    expect(await ask('living', 3)).toBe(3);
  });

  test('of a worker that goes on are renewed in time by exchanges that change nothing', async () => {
    const tool = newTool();
    const clock = manualClock();
    for (let round = 0; round < 8; round++) {
      await exchange('mine', tool, { concurrency: 2, inUse: round === 0 ? 0 : 2, wanted: 2, now: clock.now() });
      clock.advance(LEASE_MS / 2);
      expect((await exchange('other', tool, { concurrency: 2, wanted: 2, now: clock.now() })).slots).toBe(0);
    }
  });

  test('are given back by a worker that stops, and calls under way are never given to another', async () => {
    const tool = newTool();
    const slots = async (holder: string, inUse: number, wanted: number) =>
      (await exchange(holder, tool, { concurrency: 4, inUse, wanted })).slots;
    expect(await slots('a', 0, 8)).toBe(4);
    expect(await slots('b', 0, 8)).toBe(0);
    // Its share is two now, but three of its calls have not ended.
    expect(await slots('a', 3, 8)).toBe(2);
    expect(await slots('b', 0, 8)).toBe(1);
    await releasePermits(store.db, 'a');
    expect(await slots('b', 1, 8)).toBe(4);
  });

  test('are counted by tool and by target, each by itself', async () => {
    const tool = newTool();
    const limits = ['north', 'south'].map((target) => ({ tool, target, concurrency: 1, inUse: 0, wanted: 2 }));
    const whole = { tool, target: null, concurrency: 3, inUse: 0, wanted: 4 };
    const ask = { leaseMs: LEASE_MS, starts: [], pauses: [], limits: [whole, ...limits] };
    const [first, second] = [
      await exchangePermits(store.db, { holder: 'a', ...ask }),
      await exchangePermits(store.db, { holder: 'b', ...ask }),
    ];
    expect(first.limits.map(({ slots }) => slots)).toEqual([3, 1, 1]);
    expect(second.limits.map(({ slots }) => slots)).toEqual([0, 0, 0]);
  });

  test('take targets of any name and length', async () => {
    const tool = newTool();
    const targets = ['a'.repeat(1024), `${'a'.repeat(1023)}b`, 'with\0nul', '\ud800', '日'.repeat(900)];
    for (const target of targets) {
      expect((await exchange('a', tool, { target, concurrency: 1, wanted: 1 })).slots).toBe(1);
      expect((await exchange('b', tool, { target, concurrency: 1, wanted: 1 })).slots).toBe(0);
    }
  });
});

describe('starts', () => {
  const rate = fc.double({ min: 0.1, max: 500, noNaN: true });
  const asks = fc.array(
    fc.record({ target: fc.nat({ max: 3 }), count: fc.integer({ min: 1, max: 30 }), waitMs: fc.nat({ max: 400 }) }),
    { maxLength: 40 },
  );

  test('are never closer than their interval, for the tool and for each target', () => {
    fc.assert(
      fc.property(fc.option(rate), fc.option(rate), asks, (perSecond, perTarget, steps) => {
        const book = (by: number | null): RateBook | undefined =>
          by === null ? undefined : { nextAt: 0, intervalMs: 1000 / by };
        const whole = book(perSecond);
        const targets = [0, 1, 2, 3].map(() => book(perTarget));
        const given: { at: number; target: number }[] = [];
        let now = 1000;
        for (const { target, count, waitMs } of steps) {
          now += waitMs;
          const { afterMs, retryMs } = reserveStarts(whole, targets[target], count, now);
          for (const after of afterMs) {
            expect(after).toBeGreaterThanOrEqual(0);
            expect(after).toBeLessThanOrEqual(AHEAD_MS);
            given.push({ at: now + after, target });
          }
          expect(afterMs.length === count ? retryMs === 0 : retryMs > 0).toBe(true);
        }
        const expectApart = (instants: number[], by: number | null) => {
          if (by === null) return;
          const sorted = instants.toSorted((a, b) => a - b);
          for (const [index, at] of sorted.entries()) {
            if (index > 0) expect(at - sorted[index - 1]!).toBeGreaterThan(1000 / by - 1e-6);
          }
        };
        expectApart(
          given.map(({ at }) => at),
          perSecond,
        );
        for (const target of targets.keys()) {
          expectApart(
            given.filter((one) => one.target === target).map(({ at }) => at),
            perTarget,
          );
        }
      }),
    );
  });

  test('of a tool are not held up by a target that is not ready for them', () => {
    const whole = { nextAt: 0, intervalMs: 10 };
    const slow = { nextAt: 0, intervalMs: 5000 };
    const other = { nextAt: 0, intervalMs: 5000 };
    expect(reserveStarts(whole, slow, 3, 100)).toEqual({ afterMs: [0], retryMs: 5000 });
    expect(reserveStarts(whole, other, 1, 100)).toEqual({ afterMs: [10], retryMs: 0 });
  });

  test('keep to the rate when several workers ask the store at once', async () => {
    const tool = newTool();
    const clock = manualClock();
    const given: number[] = [];
    const worker = async (holder: string, target: string) => {
      const { starts } = await exchangePermits(store.db, {
        holder,
        leaseMs: LEASE_MS,
        limits: [null, target].map((of) => ({ tool, target: of, inUse: 0, wanted: 5 })),
        starts: [{ tool, target, perSecond: 20, count: 5 }],
        pauses: [],
        now: clock.now(),
      });
      given.push(...starts[0]!.afterMs.map((after) => clock.now().getTime() + after));
    };
    for (let round = 0; round < 10; round++) {
      await Promise.all(['a', 'b', 'c', 'd'].map((name) => worker(name, `target-${name}`)));
      clock.advance(100);
    }
    const sorted = given.toSorted((a, b) => a - b);
    for (const [index, at] of sorted.entries()) {
      if (index > 0) expect(at - sorted[index - 1]!).toBeGreaterThanOrEqual(49.99);
    }
    // A second and what is given ahead, at twenty a second, and not one is wasted.
    expect(sorted.length).toBe(24);
  });
});

describe('a pause', () => {
  test('is seen by every worker until it is over, and only ever made longer', async () => {
    const tool = newTool();
    const clock = manualClock();
    const look = async (holder: string, pauseMs?: number) =>
      (await exchange(holder, tool, { target: 'north', now: clock.now(), ...(pauseMs !== undefined && { pauseMs }) }))
        .pausedForMs;
    expect(await look('a')).toBe(0);
    expect(await look('a', 5000)).toBe(5000);
    expect(await look('b', 1000)).toBe(5000);
    expect((await exchange('b', tool, { target: 'south', now: clock.now() })).pausedForMs).toBe(0);
    clock.advance(4000);
    expect(await look('b')).toBe(1000);
    expect(await look('b', 3000)).toBe(3000);
    clock.advance(3000);
    expect(await look('c')).toBe(0);
  });
});

test('what nobody is about any more is swept, and what is in force stays', async () => {
  const [idle, held, paused] = [newTool(), newTool(), newTool()];
  const clock = manualClock('2040-01-01T00:00:00Z');
  const at = () => ({ now: clock.now() });
  await exchange('a', idle, { concurrency: 1, wanted: 1, ...at() });
  clock.advance(LEASE_MS + 1);
  await exchange('a', held, { concurrency: 1, wanted: 1, ...at() });
  await exchange('a', paused, { pauseMs: 60_000, ...at() });
  while ((await sweepToolLimits(store.db, { ...at(), limit: 3 })) > 0);
  const named = async () => {
    const { rows } = await store.db.query<{ tool: string }>('select tool from muster.tool_limits order by tool');
    return rows.map(({ tool }) => tool).filter((tool) => [idle, held, paused].includes(tool));
  };
  expect(await named()).toEqual([held, paused].sort());
  expect((await exchange('b', idle, { concurrency: 1, wanted: 1, ...at() })).slots).toBe(1);
  expect((await exchange('b', held, { concurrency: 1, wanted: 1, ...at() })).slots).toBe(0);
});

test('exchanges about the same limits in any order neither wait for each other for ever nor fail', async () => {
  const tool = newTool();
  const targets = Array.from({ length: 12 }, (_, index) => `target-${index}`);
  const databases = Array.from({ length: 4 }, () => openDatabase({ url: store.url, maxConnections: 1 }));
  const many = databases.map(async (db, holder) => {
    for (let round = 0; round < 10; round++) {
      const mixed = targets.map((_, index) => targets[(index * 5 + holder * 3 + round) % targets.length]!);
      await exchangePermits(db, {
        holder: `h${holder}`,
        leaseMs: LEASE_MS,
        limits: mixed.slice(0, 8).map((target) => ({ tool, target, concurrency: 2, inUse: 0, wanted: 1 })),
        starts: [],
        pauses: [],
      });
    }
  });
  await Promise.all(many);
  await Promise.all(databases.map((db) => db.close()));
  const { rows } = await store.db.query<{ most: number }>(
    `select max(slots) as most from (select sum(slots) as slots from muster.tool_permits
      where tool = $1 group by target) sums`,
    [tool],
  );
  expect(Number(rows[0]?.most)).toBeLessThanOrEqual(2);
});
