/** Listings and the store as a whole. */
import assert from 'node:assert/strict';
import type { ArtifactMeta } from '../artifact-store.ts';
import { type ContractCase, contractCase, freshScope, nothingVisible, PLAIN, refused } from './contract-case.ts';

export const listingCases: readonly ContractCase[] = [
  {
    name: 'a listing is newest first',
    async run(make) {
      let now = 5_000;
      const harness = await make({ now: () => now });
      try {
        const scope = freshScope();
        const put: ArtifactMeta[] = [];
        for (; now < 5_006; now += 1) put.unshift((await harness.store.put(scope, { ...PLAIN, data: now })).meta);
        assert.deepEqual(await harness.store.list(scope), { artifacts: put });
      } finally {
        await harness.dispose?.();
        await harness.store.close();
      }
    },
  },

  contractCase('pages are bounded and together hold everything once', async ({ store }, scope) => {
    const refs = new Set<string>();
    for (let index = 0; index < 7; index += 1) refs.add((await store.put(scope, { ...PLAIN, data: index })).meta.ref);
    const seen: string[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const page = await store.list(scope, { limit: 3, cursor });
      assert.ok(page.artifacts.length <= 3);
      seen.push(...page.artifacts.map((meta) => meta.ref));
      cursor = page.cursor;
      pages += 1;
    } while (cursor !== undefined);
    assert.equal(pages, 3);
    assert.equal(seen.length, 7);
    assert.deepEqual(new Set(seen), refs);
  }),

  contractCase('a page that is exactly full and the last one has no cursor', async ({ store }, scope) => {
    for (let index = 0; index < 2; index += 1) await store.put(scope, { ...PLAIN, data: index });
    assert.equal((await store.list(scope, { limit: 2 })).cursor, undefined);
  }),

  contractCase('what is put while a listing is read does not disturb its later pages', async ({ store }, scope) => {
    const before = new Set<string>();
    for (let index = 0; index < 4; index += 1) before.add((await store.put(scope, { ...PLAIN, data: index })).meta.ref);
    const first = await store.list(scope, { limit: 2 });
    await store.delete(scope, first.artifacts[0]!.ref);
    const second = await store.list(scope, { limit: 2, cursor: first.cursor });
    assert.deepEqual(new Set([...first.artifacts, ...second.artifacts].map((meta) => meta.ref)), before);
  }),

  contractCase('a cursor of one scope opens nothing of another', async ({ store }, scope) => {
    for (let index = 0; index < 3; index += 1) await store.put(scope, { ...PLAIN, data: index });
    const { cursor } = await store.list(scope, { limit: 1 });
    assert.deepEqual(await store.list(freshScope(), { cursor }), { artifacts: [] });
  }),

  contractCase('a limit or cursor that is none is refused', async ({ store }, scope) => {
    for (const limit of [0, -1, 1_001, 1.5, Number.NaN])
      await refused(store.list(scope, { limit }), 'artifact_invalid');
    for (const cursor of ['', 'x', 'W10', '{}']) await refused(store.list(scope, { cursor }), 'artifact_invalid');
  }),

  contractCase('a scope nobody used is empty, and a working store says that it works', async ({ store }, scope) => {
    await store.checkAvailable();
    await nothingVisible(store, scope);
  }),

  contractCase('a sweep of unfinished puts touches nothing that is finished', async ({ store }, scope) => {
    const { meta } = await store.put(scope, { ...PLAIN, data: 'kept' });
    await store.sweepUnfinished();
    assert.equal((await store.get(scope, meta.ref))?.data, 'kept');
  }),
];
