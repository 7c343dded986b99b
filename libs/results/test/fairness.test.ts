import { afterAll, beforeAll, expect, test } from 'vitest';
import { takeDue } from '../src/index.ts';
import type { Store, Tenant } from './store.ts';
import { accepted, frozen, newTenant, openStore, reread } from './store.ts';

let store: Store;
beforeAll(async () => {
  store = await openStore();
});
afterAll(() => store.close());

const WINDOW = 50;
const SMALL_TENANTS = 100;
const SMALL_CHUNKS = 10;

const sweep = async (owner: Tenant, chunks: number, second: number) => {
  const acceptedAt = new Date(Date.UTC(2026, 10, 1, 0, 0, second));
  const sizes = Array.from({ length: chunks }, () => 1);
  await frozen(store.db, await accepted(store.db, owner, { priority: 2, acceptedAt }), sizes);
};

/** Takes what is due and brings it all to its end: one round of the whole window. */
const round = async () => {
  const due = await takeDue(store.db, { window: WINDOW });
  await store.db.query(
    `update muster.chunks set state = 'settled', settled_at = now(), items = null, ok_count = size
      where id = any($1::uuid[])`,
    [due.map((item) => item.id)],
  );
  return due.map((item) => item.tenant);
};

test('two thousand chunks of one tenant do not starve the tens of a hundred others', { timeout: 120_000 }, async () => {
  await sweep(await newTenant(store.db, 'great'), 2_000, 0);
  for (let tenant = 0; tenant < SMALL_TENANTS; tenant += 1) {
    await sweep(await newTenant(store.db, `small-${tenant}`), SMALL_CHUNKS, 1 + tenant);
  }
  const shares: { great: number; small: number }[] = [];
  let left = SMALL_TENANTS * SMALL_CHUNKS;
  while (left > 0) {
    const tenants = await round();
    const great = tenants.filter((tenant) => tenant === 'great').length;
    shares.push({ great, small: tenants.length - great });
    expect(tenants).toHaveLength(WINDOW);
    left -= tenants.length - great;
  }
  // One place of fifty is the great one's in each round; the last round has room for more of it.
  expect(shares).toHaveLength(Math.ceil((SMALL_TENANTS * SMALL_CHUNKS) / (WINDOW - 1)));
  for (const { great } of shares.slice(0, -1)) expect(great).toBe(1);
  const rest = await round();
  expect(new Set(rest)).toEqual(new Set(['great']));
});

test('a small run does not wait behind a great one of its own tenant and priority', async () => {
  const owner = await newTenant(store.db, 'two-sizes');
  await store.db.query(`update muster.runs set stop_reason = 'deadline' where phase <> 'done'`);
  await store.db.query(`update muster.chunks set state = 'settled', settled_at = now(), items = null, ok_count = size
    where state = 'open'`);
  await store.db.query(`update muster.runs set dispatched_at = now() where phase <> 'done'`);
  await sweep(owner, 500, 0);
  const mine = async (window: number) => {
    const due = await takeDue(store.db, { window });
    return due.filter(({ tenant }) => tenant === 'two-sizes');
  };
  const great = await mine(20);
  expect(great).toHaveLength(20);
  const small = await accepted(store.db, owner, { priority: 2, acceptedAt: new Date(Date.UTC(2026, 10, 2)) });
  // Its plan is the next thing that is sent, and then each of its chunks, until it has as many under way.
  const settle = (ids: string[]) =>
    store.db.query(
      `update muster.chunks set state = 'settled', settled_at = now(), items = null, ok_count = size
        where id = any($1::uuid[])`,
      [ids],
    );
  await settle(great.slice(0, 1).map(({ id }) => id));
  expect(await mine(20)).toMatchObject([{ kind: 'plan', runId: small.id }]);
  await frozen(store.db, await reread(store.db, small), [1, 1, 1]);
  await settle(great.slice(1, 4).map(({ id }) => id));
  const next = await mine(20);
  expect(next.map(({ runId }) => runId === small.id)).toEqual([true, true, true, false]);
});
