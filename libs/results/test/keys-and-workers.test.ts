import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  createApiKey,
  ensureSession,
  findApiKey,
  forgetWorker,
  heartbeatWorker,
  listApiKeys,
  listWorkers,
  noteApiKeyUse,
  pruneWorkers,
  revokeApiKey,
} from '../src/index.ts';
import type { Store } from './store.ts';
import { newTenant, openStore, refusal } from './store.ts';

let store: Store;
beforeAll(async () => {
  store = await openStore();
});
afterAll(() => store.close());

test('a key opens its tenant until it is revoked, and nothing else opens it', async () => {
  const { id, key } = await createApiKey(store.db, { tenant: 'acme', name: 'ci', role: 'runner' });
  expect(key).toMatch(/^mk_[0-9A-Za-z]{43}$/);
  expect(await findApiKey(store.db, key)).toMatchObject({ id, tenant: 'acme', name: 'ci', role: 'runner' });
  for (const wrong of ['', 'mk_', `${key}x`, key.slice(0, -1), key.toLowerCase(), "' or true --", '\0']) {
    expect(await findApiKey(store.db, wrong)).toBeUndefined();
  }
  expect(await revokeApiKey(store.db, { tenant: 'acme', id })).toBe(true);
  expect(await revokeApiKey(store.db, { tenant: 'acme', id })).toBe(false);
  expect(await findApiKey(store.db, key)).toBeUndefined();
});

test('a key sees its whole tenant only when it was made so', async () => {
  const tenant = 'wide';
  const made = async (over: { tenantWide?: boolean }) =>
    (await findApiKey(store.db, (await createApiKey(store.db, { tenant, name: 'k', role: 'reader', ...over })).key))!;
  expect((await made({})).tenantWide).toBe(false);
  expect((await made({ tenantWide: true })).tenantWide).toBe(true);
  const listed = await listApiKeys(store.db, { tenant, limit: 10 });
  expect(listed.map(({ tenantWide }) => tenantWide).sort()).toEqual([false, true]);
});

test('the key itself is stored nowhere', async () => {
  const { key } = await createApiKey(store.db, { tenant: 'hidden', name: 'ci', role: 'admin' });
  const { rows } = await store.db.query(`select api_keys::text as row from muster.api_keys where tenant = 'hidden'`);
  const listed = await listApiKeys(store.db, { tenant: 'hidden', limit: 10 });
  expect(JSON.stringify([rows, listed])).not.toContain(key.slice(3, 20));
  expect(JSON.stringify(rows)).not.toContain(Buffer.from(key).toString('hex'));
});

test('a role that nobody knows is refused', async () => {
  const made = createApiKey(store.db, { tenant: 'acme', name: 'x', role: 'owner' as 'admin' });
  expect(await refusal(made)).toBe('api_keys_role_check');
});

test('the use of a key is noted once a minute', async () => {
  const { id } = await createApiKey(store.db, { tenant: 'noted', name: 'ci', role: 'reader' });
  const at = async (seconds: number) => {
    await noteApiKeyUse(store.db, id, new Date(seconds * 1000));
    return (await listApiKeys(store.db, { tenant: 'noted', limit: 1 }))[0]!.lastUsedAt;
  };
  expect(await at(100)).toEqual(new Date(100_000));
  expect(await at(159)).toEqual(new Date(100_000));
  expect(await at(161)).toEqual(new Date(161_000));
});

test('a session of a key is one, however many ask for it at once', async () => {
  const owner = await newTenant(store.db);
  const ask = () => ensureSession(store.db, { tenant: owner.tenant, keyId: owner.keyId, name: 'sweeps' });
  const sessions = await Promise.all(Array.from({ length: 8 }, ask));
  expect(new Set(sessions.map((session) => session.id)).size).toBe(1);
});

test('workers are listed while they are seen, with what they offer now', async () => {
  const at = (seconds: number) => new Date(seconds * 1000);
  await heartbeatWorker(store.db, { id: 'w-1', digests: ['a'], now: at(100) });
  await heartbeatWorker(store.db, { id: 'w-2', digests: [], now: at(100) });
  await heartbeatWorker(store.db, { id: 'w-1', digests: ['a', 'b'], now: at(150) });
  expect(await listWorkers(store.db, { seenSince: at(140) })).toEqual([
    { id: 'w-1', digests: ['a', 'b'], startedAt: at(100), seenAt: at(150) },
  ]);
  expect(await pruneWorkers(store.db, { seenBefore: at(140) })).toBe(1);
  await forgetWorker(store.db, 'w-1');
  expect(await listWorkers(store.db, { seenSince: at(0) })).toEqual([]);
});

test('a worker that was silent for minutes counts as one that has just come', async () => {
  const at = (seconds: number) => new Date(seconds * 1000);
  await heartbeatWorker(store.db, { id: 'w-3', digests: [], now: at(1000) });
  await heartbeatWorker(store.db, { id: 'w-3', digests: [], now: at(1059) });
  await heartbeatWorker(store.db, { id: 'w-3', digests: [], now: at(1200) });
  expect(await listWorkers(store.db, { seenSince: at(1200) })).toMatchObject([{ id: 'w-3', startedAt: at(1200) }]);
  await forgetWorker(store.db, 'w-3');
});
