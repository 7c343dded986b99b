/** Deliveries of webhooks as rows: kept once, worked on by one, changed by nobody, forgotten in time. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  beginCollapse,
  claimDeliveries,
  countJoins,
  type DeliveryClaim,
  type DeliveryInput,
  type DeliveryResult,
  ensureSession,
  findRepeated,
  findSession,
  finishDeliveries,
  forgetDeliveries,
  forgetRuns,
  getDelivery,
  getKeptDelivery,
  getRunCollapse,
  joins,
  keepDeliveries,
  listDeliveries,
  listenForHints,
  lockHook,
  newestRun,
  openDeliveries,
  postponeDelivery,
  releaseDeliveries,
} from '../src/index.ts';
import { accepted, completed, lockWaited, newTenant, openStore, refusal, type Store, type Tenant } from './store.ts';

let store: Store;
let owner: Tenant;
let stranger: Tenant;
beforeAll(async () => {
  store = await openStore();
  owner = await newTenant(store.db);
  stranger = await newTenant(store.db);
});
afterAll(() => store.close());

const LEASE_MS = 60_000;
const NOTHING: DeliveryResult = { runs: [], collapsed: [], declined: [], skipped: [], doubts: [] };

function input(over: Partial<DeliveryInput> = {}): DeliveryInput {
  return {
    id: randomUUID(),
    tenant: owner.tenant,
    hook: `hook-${randomUUID().slice(0, 8)}`,
    format: 'standard',
    deliveryId: randomUUID(),
    bodyDigest: 'sha256:one',
    headers: { 'webhook-id': 'x' },
    body: Buffer.from('sealed'),
    bodyBytes: 4,
    receivedAt: new Date('2026-11-30T12:00:00Z'),
    repeatMs: 300_000,
    ...over,
  };
}

async function keep(one: DeliveryInput) {
  return (await keepDeliveries(store.db, [one]))[0]!;
}

async function repeated(one: DeliveryInput) {
  return (await findRepeated(store.db, [one]))[0];
}

async function kept(over: Partial<DeliveryInput> = {}) {
  const { outcome, delivery } = await keep(input(over));
  expect(outcome).toBe('received');
  return delivery;
}

const claim = (hook: string, limitPerHook = 10, leaseMs = LEASE_MS) =>
  claimDeliveries(store.db, { hooks: [{ tenant: owner.tenant, hook }], limitPerHook, leaseMs });

async function ended(over: Partial<DeliveryInput> = {}) {
  const delivery = await kept(over);
  const [one] = await claim(delivery.hook);
  await finishDeliveries(store.db, [{ claim: one!, state: 'done', result: NOTHING }], delivery.receivedAt);
  return delivery;
}

describe('a delivery', () => {
  test('is one row for its id, and a conflict with another body', async () => {
    const first = input();
    const sent = await Promise.all(Array.from({ length: 8 }, () => keep({ ...first, id: randomUUID() })));
    expect(sent.map(({ outcome }) => outcome).sort()).toEqual(
      [...Array(1).fill('received'), ...Array(7).fill('repeated')].sort(),
    );
    expect(new Set(sent.map(({ delivery }) => delivery.id)).size).toBe(1);
    const other = { ...first, id: randomUUID(), bodyDigest: 'sha256:other' };
    expect((await keep(other)).outcome).toBe('conflict');
    expect((await repeated(other))?.outcome).toBe('conflict');
    expect(await repeated({ ...first, tenant: stranger.tenant })).toBeUndefined();
  });

  test('is one row also among those that are kept in one go, whichever came first', async () => {
    const first = input();
    const nameless = input({ deliveryId: undefined });
    const again = (one: DeliveryInput, over = {}) => ({ ...one, id: randomUUID(), ...over });
    const all = [first, again(first), again(first, { bodyDigest: 'sha256:other' }), nameless, again(nameless), input()];
    const outcomes = await keepDeliveries(store.db, all);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual([
      'received',
      'repeated',
      'conflict',
      'received',
      'repeated',
      'received',
    ]);
    expect((await findRepeated(store.db, [...all, input()])).map((found) => found?.outcome)).toEqual([
      'repeated',
      'repeated',
      'conflict',
      'repeated',
      'repeated',
      'repeated',
      undefined,
    ]);
    expect(outcomes.map(({ delivery }) => delivery.id)).toEqual([
      first.id,
      first.id,
      first.id,
      nameless.id,
      nameless.id,
      all[5]!.id,
    ]);
  });

  test('without an id is one row for its body until the time is over, however many come at once', async () => {
    const first = input({ deliveryId: undefined });
    const at = (ms: number) => new Date(first.receivedAt.getTime() + ms);
    const send = (receivedAt: Date) => keep({ ...first, id: randomUUID(), receivedAt });
    const sent = await Promise.all(Array.from({ length: 8 }, (_, nth) => send(at(nth))));
    expect(sent.filter(({ outcome }) => outcome === 'received')).toHaveLength(1);
    expect((await send(at(299_000))).outcome).toBe('repeated');
    expect((await send(at(300_008))).outcome).toBe('received');
  });

  test('is told to whoever listens when it is committed, and not when it comes again', async () => {
    let heard = 0;
    let connected: () => void = () => {};
    const ready = new Promise<void>((resolve) => {
      connected = resolve;
    });
    const listening = listenForHints(store.db, { onDue: () => connected(), onDelivery: () => void heard++ });
    try {
      await ready;
      heard = 0;
      const one = input();
      await keep(one);
      await keep({ ...one, id: randomUUID() });
      await keep(input());
      // Notices come in the order of their commits: what comes last shows that all before it came.
      const last = new Promise<void>((resolve) => {
        connected = resolve;
      });
      await store.db.query(`select pg_notify('muster_dispatch', '')`);
      await last;
      expect(heard).toBe(2);
    } finally {
      await listening.stop();
    }
  });

  test('is never changed, and done once', async () => {
    const delivery = await ended();
    const set = (assignment: string, id = delivery.id) =>
      refusal(store.db.query(`update muster.deliveries set ${assignment} where id = $1`, [id]));
    expect(await set(`state = 'received', processed_at = null, result = null`)).toBe('MU016');
    expect(await set(`result = '{}'`)).toBe('MU016');
    const { id } = await kept();
    expect(await set(`body = 'x'`, id)).toBe('MU017');
    expect(await set(`tenant = 'x'`, id)).toBe('MU017');
    expect(await set(`state = 'done'`, id)).toBe('deliveries_processed_has_end');
    expect(await set(`state = 'done', processed_at = now()`, id)).toBe('deliveries_processed_has_result');
  });

  test('is seen by its tenant alone', async () => {
    const delivery = await kept();
    const theirs = { tenant: stranger.tenant, id: delivery.id };
    expect(await getDelivery(store.db, theirs)).toBeUndefined();
    expect(await getKeptDelivery(store.db, theirs)).toBeUndefined();
    expect((await listDeliveries(store.db, { tenant: stranger.tenant, limit: 10 })).deliveries).toEqual([]);
    await expect(
      listDeliveries(store.db, { tenant: stranger.tenant, after: delivery.id, limit: 10 }),
    ).rejects.toMatchObject({ code: 'unknown_cursor' });
    const hooks = [{ tenant: stranger.tenant, hook: delivery.hook }];
    expect(await claimDeliveries(store.db, { hooks, limitPerHook: 10, leaseMs: LEASE_MS })).toEqual([]);
  });
});

describe('a claim', () => {
  test('is given to one, for a time, and counted', async () => {
    const { hook, id } = await kept();
    const claims = (await Promise.all([claim(hook), claim(hook), claim(hook)])).flat();
    expect(claims).toEqual([{ id, tenant: owner.tenant, hook, attempts: 1 }]);
    await store.db.query('update muster.deliveries set next_at = now() where id = $1', [id]);
    expect(await claim(hook)).toEqual([{ ...claims[0], attempts: 2 }]);
  });

  test('that was lost writes nothing', async () => {
    const { hook } = await kept();
    const [lost] = await claim(hook, 1, 0);
    const [held] = await claim(hook, 1, 0);
    const finish = (one: DeliveryClaim | undefined) =>
      finishDeliveries(store.db, [{ claim: one!, state: 'done', result: NOTHING }], new Date());
    const opened = (one: DeliveryClaim | undefined) => store.db.transaction((tx) => openDeliveries(tx, [one!]));
    expect(await opened(lost)).toEqual([]);
    expect(await finish(lost)).toBe(0);
    await postponeDelivery(store.db, lost!, { waitMs: 1_000_000, counts: true });
    expect(await opened(held)).toMatchObject([{ claim: held, delivery: { attempts: 2, body: Buffer.from('sealed') } }]);
    expect(await finish(held)).toBe(1);
    expect(await finish(held)).toBe(0);
  });

  test('that is given back, or waits without counting, was no attempt', async () => {
    const { hook, id } = await kept();
    const attempts = async () => (await getDelivery(store.db, { tenant: owner.tenant, id }))!.attempts;
    await releaseDeliveries(store.db, await claim(hook));
    expect(await attempts()).toBe(0);
    const [again] = await claim(hook);
    await postponeDelivery(store.db, again!, { waitMs: 1_000_000, counts: false });
    expect(await attempts()).toBe(0);
    expect(await claim(hook)).toEqual([]);
  });

  test('is for each hook, however many of another one wait', async () => {
    const flooded = (await kept()).hook;
    for (let nth = 0; nth < 20; nth++) await kept({ hook: flooded });
    const quiet = (await kept()).hook;
    const hooks = [flooded, quiet].map((hook) => ({ tenant: owner.tenant, hook }));
    const claims = await claimDeliveries(store.db, { hooks, limitPerHook: 3, leaseMs: LEASE_MS });
    expect(claims.map(({ hook }) => hook).sort()).toEqual([flooded, flooded, flooded, quiet].sort());
  });
});

describe('a run that later deliveries join', () => {
  const at = new Date('2026-11-30T12:00:00Z');

  test('is looked for by one at a time, for each hook', async () => {
    const hook = { tenant: owner.tenant, hook: 'locked' };
    const seen: string[] = [];
    const first = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const one = store.db.transaction(async (tx) => {
      await lockHook(tx, hook);
      begun.resolve();
      await first.promise;
      seen.push('one');
    });
    await begun.promise;
    const two = store.db.transaction(async (tx) => {
      await lockHook(tx, hook);
      seen.push('two');
    });
    await lockWaited(store.db);
    await store.db.transaction((tx) => lockHook(tx, { ...hook, tenant: stranger.tenant }));
    await store.db.transaction((tx) => lockHook(tx, { ...hook, hook: 'another' }));
    first.resolve();
    await Promise.all([one, two]);
    expect(seen).toEqual(['one', 'two']);
  });

  test('is the newest of its key, of its tenant and hook, and goes with its run', async () => {
    const place = { tenant: owner.tenant, hook: 'storms', key: 'subject:db-1' };
    const newest = (over = {}) => store.db.transaction((tx) => newestRun(tx, { ...place, ...over }));
    expect(await newest()).toBeUndefined();
    const run = await completed(store.db, owner, {}, { finishedAt: at });
    await store.db.transaction((tx) => beginCollapse(tx, place, { runId: run.id, at, count: 1 }));
    expect(await newest()).toEqual({ runId: run.id, firstAt: at, isOver: true });
    for (const over of [{ tenant: stranger.tenant }, { hook: 'others' }, { key: 'subject:db-2' }]) {
      expect(await newest(over)).toBeUndefined();
    }
    const later = new Date(at.getTime() + 500);
    const next = await accepted(store.db, owner);
    await store.db.transaction((tx) => beginCollapse(tx, place, { runId: next.id, at: later, count: 1 }));
    expect(await newest()).toEqual({ runId: next.id, firstAt: later, isOver: false });
    const scope = { tenant: owner.tenant, runId: run.id };
    const joined = [
      { runId: run.id, at: later, count: 2 },
      { runId: next.id, at, count: 4 },
      { runId: run.id, at, count: 1 },
    ];
    await store.db.transaction((tx) => countJoins(tx, joined));
    expect(await getRunCollapse(store.db, scope)).toEqual({ hook: 'storms', count: 4, firstAt: at, lastAt: later });
    expect(await getRunCollapse(store.db, { ...scope, runId: next.id })).toMatchObject({ count: 5, lastAt: later });
    expect(await getRunCollapse(store.db, { ...scope, tenant: stranger.tenant })).toBeUndefined();
    expect(await forgetRuns(store.db, [run.id])).toEqual([run.id]);
    expect(await getRunCollapse(store.db, scope)).toBeUndefined();
  });
});

test('a run is joined while it is not over, and as long as its hook says', () => {
  const firstAt = new Date('2026-11-30T12:00:00Z');
  const after = (ms: number) => new Date(firstAt.getTime() + ms);
  const run = { runId: 'run', firstAt };
  expect(joins({ ...run, isOver: false }, after(1_000_000), 1000)).toBe(true);
  expect(joins({ ...run, isOver: true }, after(999), 1000)).toBe(true);
  expect(joins({ ...run, isOver: true }, after(1000), 1000)).toBe(false);
});

test('deliveries are forgotten when they were done long enough ago, and never before they were done', async () => {
  const old = await ended({ receivedAt: new Date('2026-01-01T00:00:00Z') });
  const waiting = await kept({ receivedAt: new Date('2026-01-01T00:00:00Z') });
  const young = await ended();
  const doneBefore = new Date('2026-06-01T00:00:00Z');
  expect(await forgetDeliveries(store.db, { doneBefore, limit: 10 })).toBe(1);
  const there = async ({ id }: { id: string }) =>
    (await getDelivery(store.db, { tenant: owner.tenant, id })) !== undefined;
  expect([await there(old), await there(waiting), await there(young)]).toEqual([false, true, true]);
});

test('a session that no key owns is one for its name, and no key finds it by its own', async () => {
  const { tenant, keyId } = owner;
  const name = 'hook:alerts';
  const made = await Promise.all(
    Array.from({ length: 5 }, () => ensureSession(store.db, { tenant, keyId: null, name })),
  );
  expect(new Set(made.map(({ id }) => id)).size).toBe(1);
  expect(made[0]).toMatchObject({ ownerKeyId: null, name });
  expect(await findSession(store.db, tenant, { keyId, name })).toBeUndefined();
  const own = await ensureSession(store.db, { tenant, keyId, name });
  expect(own.id).not.toBe(made[0]!.id);
  expect((await findSession(store.db, tenant, { keyId: null, name }))?.id).toBe(made[0]!.id);
  expect(await findSession(store.db, stranger.tenant, { keyId: null, name })).toBeUndefined();
});
