/** Scopes, expiry and deletion: who sees what, and until when. */
import assert from 'node:assert/strict';
import { type ArtifactRef, newArtifactRef } from '../artifact-ref.ts';
import type { ArtifactScope, ArtifactStore } from '../artifact-store.ts';
import { type ContractCase, contractCase, nothingVisible, PLAIN, readAll, refused } from './contract-case.ts';

/** Scopes that a careless encoding would take for one another. */
function lookalikes(seed: string): readonly ArtifactScope[] {
  return [
    { conversationId: seed },
    { conversationId: seed.toUpperCase() },
    { conversationId: `${seed}/` },
    { conversationId: `${seed}/x` },
    { conversationId: `${seed}%2fx` },
    { conversationId: `${seed}_2fx` },
    { conversationId: `../${seed}` },
    { conversationId: `${seed}\u00e9` },
    { conversationId: `${seed}e\u0301` },
    { conversationId: seed, tenant: '' },
    { conversationId: seed, principal: '' },
    { conversationId: seed, tenant: '.' },
    { conversationId: seed, tenant: '..' },
    { conversationId: seed, tenant: 'Acme' },
    { conversationId: seed, tenant: 'acme' },
    { conversationId: seed, principal: 'acme' },
    { conversationId: seed, tenant: 'acme', principal: '' },
    { conversationId: seed, tenant: 'acme/p' },
    { conversationId: seed, tenant: 'acme', principal: 'p' },
    { conversationId: seed, tenant: 'acme', principal: 'p'.repeat(300) },
    { conversationId: seed, tenant: 'acme', principal: `${'p'.repeat(299)}P` },
  ];
}

async function isAbsent(store: ArtifactStore, scope: ArtifactScope, ref: ArtifactRef): Promise<void> {
  assert.equal(await store.head(scope, ref), null);
  assert.equal(await store.get(scope, ref), null);
  assert.equal(await store.getStream(scope, ref), null);
  assert.equal(await store.getStream(scope, ref, { start: 1, end: 2 }), null);
  assert.equal(await store.getStream(scope, ref, { end: 0 }), null);
}

export const scopeCases: readonly ContractCase[] = [
  contractCase('missing, expired and foreign are null alike', async ({ store }, scope) => {
    const expired = await store.put(scope, { ...PLAIN, data: 'old', expiresAt: 1 });
    const foreign = await store.put({ ...scope, principal: 'other' }, { ...PLAIN, data: 'theirs' });
    await isAbsent(store, scope, newArtifactRef());
    await isAbsent(store, scope, expired.meta.ref);
    await isAbsent(store, scope, foreign.meta.ref);
    await isAbsent(store, scope, 'art_no');
    await isAbsent(store, scope, '../../secret');
    await nothingVisible(store, scope);
  }),

  contractCase('the whole scope isolates, however much two scopes look alike', async ({ store }) => {
    const scopes = lookalikes(newArtifactRef().slice(4).toLowerCase());
    const refs: ArtifactRef[] = [];
    for (const [index, scope] of scopes.entries()) {
      refs.push((await store.put(scope, { ...PLAIN, data: `of scope ${index}` })).meta.ref);
    }
    for (const [index, scope] of scopes.entries()) {
      const listed = await store.list(scope);
      assert.deepEqual(
        listed.artifacts.map((meta) => meta.ref),
        [refs[index]],
        `scope ${index} lists its own alone`,
      );
      assert.equal((await store.get(scope, refs[index]!))?.data, `of scope ${index}`);
      assert.equal(await store.head(scope, refs[(index + 1) % refs.length]!), null);
    }
  }),

  contractCase('a scope that names nobody is refused', async ({ store }) => {
    const wrong = [{ conversationId: '' }, {}, { conversationId: 7 }, { conversationId: 'c', tenant: null }, null];
    for (const scope of [...wrong, { conversationId: '\uD800' }] as ArtifactScope[]) {
      await refused(store.put(scope, { ...PLAIN, data: 'x' }), 'artifact_invalid');
      await refused(store.head(scope, newArtifactRef()), 'artifact_invalid');
      await refused(store.get(scope, newArtifactRef()), 'artifact_invalid');
      await refused(store.getStream(scope, newArtifactRef()), 'artifact_invalid');
      await refused(store.delete(scope, newArtifactRef()), 'artifact_invalid');
      await refused(store.list(scope), 'artifact_invalid');
    }
  }),

  {
    name: 'an artifact expires at its instant, and not before',
    async run(make) {
      let now = 1_000_000;
      const harness = await make({ now: () => now });
      const { store } = harness;
      try {
        const scope = { conversationId: newArtifactRef() };
        const { meta } = await store.put(scope, { ...PLAIN, data: 'x', expiresAt: 1_000_500 });
        now = 1_000_499;
        assert.equal((await store.get(scope, meta.ref))?.data, 'x');
        assert.equal((await store.list(scope)).artifacts.length, 1);
        now = 1_000_500;
        await isAbsent(store, scope, meta.ref);
        await nothingVisible(store, scope);
      } finally {
        await harness.dispose?.();
        await store.close();
      }
    },
  },

  contractCase('a delete removes for good, twice is fine, and only inside its scope', async ({ store }, scope) => {
    const kept = await store.put(scope, { ...PLAIN, data: 'kept' });
    const gone = await store.put(scope, { ...PLAIN, data: 'gone', digest: 'sha-256' });
    await store.delete({ ...scope, tenant: 'other' }, kept.meta.ref);
    await store.delete(scope, gone.meta.ref);
    await store.delete(scope, gone.meta.ref);
    await store.delete(scope, newArtifactRef());
    await store.delete(scope, 'art_no');
    await isAbsent(store, scope, gone.meta.ref);
    assert.deepEqual((await store.list(scope)).artifacts, [kept.meta]);
    assert.equal((await store.get(scope, kept.meta.ref))?.data, 'kept');
  }),

  contractCase('an artifact that has expired can still be deleted', async ({ store }, scope) => {
    const ref = newArtifactRef();
    await store.put(scope, { ...PLAIN, data: 'old', ref, expiresAt: 1 });
    await refused(store.put(scope, { ...PLAIN, data: 'new', ref }), 'artifact_ref_taken');
    await store.delete(scope, ref);
    await store.put(scope, { ...PLAIN, data: 'new', ref });
    const found = await store.getStream(scope, ref);
    assert.ok(found);
    assert.deepEqual(await readAll(found.body), new TextEncoder().encode('new'));
  }),
];
