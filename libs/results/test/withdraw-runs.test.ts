/** Runs that wait for a definition nobody has (see the head of `withdraw-runs.ts`). */
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  chooseWithdrawn,
  forgetWorker,
  getDefinition,
  heartbeatWorker,
  isOffered,
  requestCancel,
  takeDue,
  withdrawRuns,
} from '../src/index.ts';
import { accepted, completed, frozen, newTenant, openStore, reread, type Store, type Tenant } from './store.ts';

const MINUTE = 60_000;
const PATIENCE = 10 * MINUTE;
const NOW = new Date('2026-11-30T12:00:00Z');
const ago = (ms: number) => new Date(NOW.getTime() - ms);

describe('the choice of what is withdrawn', () => {
  const rule = { now: NOW, patienceMs: PATIENCE };
  const settled = { digests: ['other'], startedAt: ago(2 * MINUTE) };

  test('is what nobody living offers, and nobody has for longer than the patience', () => {
    const awaited = [
      { digest: 'long-gone', offeredAt: ago(PATIENCE + 1) },
      { digest: 'never-there', offeredAt: null },
      { digest: 'just-gone', offeredAt: ago(PATIENCE) },
      { digest: 'other', offeredAt: ago(PATIENCE + 1) },
    ];
    expect(chooseWithdrawn(awaited, [settled], rule)).toEqual(['long-gone', 'never-there']);
  });

  test('is nothing while nobody has lived for a minute: others may come back', () => {
    const awaited = [{ digest: 'long-gone', offeredAt: null }];
    const new_ = { digests: [], startedAt: ago(MINUTE - 1) };
    expect(chooseWithdrawn(awaited, [], rule)).toEqual([]);
    expect(chooseWithdrawn(awaited, [new_, new_], rule)).toEqual([]);
    expect(chooseWithdrawn(awaited, [new_, settled], rule)).toEqual(['long-gone']);
    // A shorter patience needs no longer life.
    expect(chooseWithdrawn(awaited, [{ digests: [], startedAt: ago(1000) }], { now: NOW, patienceMs: 1000 })).toEqual([
      'long-gone',
    ]);
  });

  test('never holds what somebody living offers', () => {
    const digest: fc.Arbitrary<string> = fc.constantFrom('a', 'b', 'c', 'd');
    const worker = fc.record({
      digests: fc.array(digest),
      startedAt: fc.integer({ min: 0, max: 20 * MINUTE }).map(ago),
    });
    fc.assert(
      fc.property(fc.array(digest), fc.array(worker), (awaited, living) => {
        const chosen = chooseWithdrawn(
          awaited.map((one) => ({ digest: one, offeredAt: null })),
          living,
          rule,
        );
        expect(chosen.filter((one) => living.some(({ digests }) => digests.includes(one)))).toEqual([]);
      }),
    );
  });
});

describe('runs', () => {
  let store: Store;
  let owner: Tenant;
  beforeEach(async () => {
    store = await openStore();
    owner = await newTenant(store.db);
  });
  afterEach(() => store.close());

  const definition = (digest: string) => ({ digest, name: 'fleet_check', version: '1.0.0', declaration: {} });
  const accept = (digest: string, acceptedAt: Date) =>
    accepted(store.db, owner, { definition: definition(digest), acceptedAt });
  const beat = (id: string, digests: string[], at: Date) => heartbeatWorker(store.db, { id, digests, now: at });
  const withdraw = (over: { limit?: number; now?: Date } = {}) =>
    withdrawRuns(store.db, { now: NOW, patienceMs: PATIENCE, limit: 100, ...over });

  test('of a withdrawn definition are stopped, the oldest first and once, and no others are', async () => {
    await beat('here', ['living'], ago(2 * MINUTE));
    await beat('here', ['living'], ago(MINUTE + 1000));
    await beat('here', ['living'], ago(10_000));
    const old = await accept('gone', ago(30 * MINUTE));
    const older = await accept('gone', ago(40 * MINUTE));
    const young = await accept('gone', ago(PATIENCE));
    const offered = await accept('living', ago(30 * MINUTE));
    const done = await completed(store.db, owner, { definition: definition('gone'), acceptedAt: ago(50 * MINUTE) });
    const cancelled = await accept('gone', ago(30 * MINUTE));
    await requestCancel(store.db, { tenant: owner.tenant, runId: cancelled.id });
    expect(await withdraw({ limit: 1 })).toEqual([older.id]);
    expect(await withdraw()).toEqual([old.id]);
    expect(await withdraw()).toEqual([]);
    expect(await reread(store.db, old)).toMatchObject({ stopReason: 'withdrawn', phase: 'collect', status: 'pending' });
    for (const untouched of [young, offered]) expect((await reread(store.db, untouched)).stopReason).toBeNull();
    expect((await reread(store.db, cancelled)).stopReason).toBe('cancelled');
    expect(await reread(store.db, done)).toEqual(done);
  });

  test('wait as long from when the last worker with their definition stopped or fell silent', async () => {
    const run = await accept('gone', ago(60 * MINUTE));
    await beat('stopped', ['gone'], ago(9 * MINUTE));
    await forgetWorker(store.db, 'stopped', ago(8 * MINUTE));
    expect(await getDefinition(store.db, 'gone')).toBeDefined();
    const beats = async (until: Date) => {
      await beat('here', [], new Date(until.getTime() - 50_000));
      await beat('here', [], new Date(until.getTime() - 20_000));
    };
    await beat('here', [], ago(2 * MINUTE));
    await beat('here', [], ago(70_000));
    await beats(NOW);
    expect(await withdraw()).toEqual([]);
    const later = new Date(NOW.getTime() + 2 * MINUTE);
    await beat('here', [], new Date(NOW.getTime() + 30_000));
    await beats(later);
    expect(await withdraw({ now: later })).toEqual([]);
    const after = new Date(later.getTime() + 1000);
    await beat('here', [], after);
    expect(await withdraw({ now: after })).toEqual([run.id]);
  });

  test('are sent only while somebody has their definition, or when they were stopped', async () => {
    const now = new Date();
    const [mine, others, nobodys, stopped] = [
      await accept('mine', now),
      await accept('others', now),
      await accept('nobodys', now),
      await accept('nobodys', now),
    ];
    await beat('other', ['others'], now);
    await beat('silent', ['nobodys'], new Date(now.getTime() - 31_000));
    await requestCancel(store.db, { tenant: owner.tenant, runId: stopped.id });
    const take = async (digests?: string[]) =>
      (await takeDue(store.db, { window: 10, now, ...(digests && { digests }) })).map(({ id }) => id);
    expect((await take(['mine'])).sort()).toEqual([mine.id, others.id, stopped.id].sort());
    expect(await take(['mine'])).toEqual([]);
    expect(await isOffered(store.db, { digest: 'others', now })).toBe(true);
    expect(await isOffered(store.db, { digest: 'nobodys', now })).toBe(false);
    expect(await take(['nobodys'])).toEqual([nobodys.id]);
  });

  test('of which jobs wait for a definition that is gone keep no others from being sent', async () => {
    const now = new Date();
    await frozen(store.db, await accept('gone', now), [1, 1, 1, 1]);
    const take = async (digests: string[]) =>
      (await takeDue(store.db, { window: 4, now, digests })).map(({ runId }) => runId);
    expect(await take(['gone'])).toHaveLength(4);
    const { run } = await frozen(store.db, await accept('mine', now), [1, 1]);
    expect(await take(['gone', 'mine'])).toEqual([]);
    expect(await take(['mine'])).toEqual([run.id, run.id]);
  });
});
