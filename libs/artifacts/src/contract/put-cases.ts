/** Puts: what is recorded, what is refused, and that a refusal leaves nothing. */
import assert from 'node:assert/strict';
import { ArtifactTooLargeError } from '../artifact-errors.ts';
import { isArtifactRef, newArtifactRef } from '../artifact-ref.ts';
import type { PutArtifactDetails } from '../artifact-store.ts';
import { type ContractCase, contractCase, freshScope, nothingVisible, PLAIN, refused } from './contract-case.ts';

const MALFORMED: readonly [string, object][] = [
  ['an empty kind', { kind: '' }],
  ['a kind that is no string', { kind: 7 }],
  ['a mediaType without a subtype', { mediaType: 'text' }],
  ['a mediaType with a line break', { mediaType: 'text/plain\r\nx-other: 1' }],
  ['an empty label', { label: '' }],
  ['a broken label', { label: '\uDC00' }],
  ['another digest', { digest: 'md5' }],
  ['an expiry that is no instant', { expiresAt: 1.5 }],
  ['a ref of another form', { ref: 'art_short' }],
  ['a ref that climbs', { ref: '../../../../etc/passwd' }],
  ['an origin that is no object', { origin: 'run' }],
  ['an origin with an empty part', { origin: { runId: '' } }],
  ['parents that are no list', { parentRefs: newArtifactRef() }],
  ['a parent that is no ref', { parentRefs: ['art_x'] }],
  ['a description over its limit', { label: 'x'.repeat(1_101) }],
];

export const putCases: readonly ContractCase[] = [
  contractCase(
    'a put answers with the whole metadata, and head, get and list give the same',
    async ({ store }, scope) => {
      const parent = await store.put(scope, { ...PLAIN, data: 'parent' });
      const before = Date.now();
      const { meta, swept } = await store.put(scope, {
        kind: 'recording/run',
        mediaType: 'application/json; charset=utf-8',
        data: { a: 1 },
        label: 'täglich — \u{1F4BE} "quoted"',
        digest: 'sha-256',
        expiresAt: before + 3_600_000,
        origin: { runId: 'run-1', toolCallId: 'call-1' },
        parentRefs: [parent.meta.ref],
      });
      const { ref, createdAt, digest, ...rest } = meta;
      assert.deepEqual(rest, {
        kind: 'recording/run',
        mediaType: 'application/json; charset=utf-8',
        bytes: 7,
        label: 'täglich — \u{1F4BE} "quoted"',
        expiresAt: before + 3_600_000,
        origin: { runId: 'run-1', toolCallId: 'call-1' },
        parentRefs: [parent.meta.ref],
      });
      assert.ok(isArtifactRef(ref));
      assert.match(digest ?? '', /^sha-256:[0-9a-f]{64}$/);
      assert.ok(createdAt >= before && createdAt <= Date.now());
      assert.deepEqual(swept, []);
      assert.deepEqual(await store.head(scope, ref), meta);
      assert.deepEqual((await store.get(scope, ref))?.meta, meta);
      assert.deepEqual((await store.getStream(scope, ref, { end: 0 }))?.meta, meta);
      assert.ok(
        (await store.list(scope)).artifacts.some((listed) => listed.ref === ref && listed.label === meta.label),
      );
    },
  ),

  contractCase('what was not said at put is absent, not empty', async ({ store }, scope) => {
    const { meta } = await store.put(scope, { ...PLAIN, data: '' });
    const expected = ['bytes', 'createdAt', 'kind', 'mediaType', 'ref'];
    assert.deepEqual(Object.keys((await store.head(scope, meta.ref)) ?? {}).sort(), expected);
    assert.deepEqual(Object.keys(meta).sort(), expected);
  }),

  contractCase('a malformed put is refused by name and leaves nothing', async ({ store }, scope) => {
    for (const [what, wrong] of MALFORMED) {
      const details = { ...PLAIN, ...wrong } as PutArtifactDetails;
      for (const put of [store.put(scope, { ...details, data: 'x' }), store.putStream(scope, details, chunksOf('x'))]) {
        await refused(put, 'artifact_invalid').catch((failure) => {
          throw new Error(`${what}: ${failure.message}`);
        });
      }
    }
    await nothingVisible(store, scope);
  }),

  contractCase(
    'a payload over maxBytes is refused with both sizes and the option; one of exactly maxBytes is kept',
    async ({ store }, scope) => {
      const error = await refused(store.put(scope, { ...PLAIN, data: 'x'.repeat(101) }), 'artifact_too_large');
      assert.ok(error instanceof ArtifactTooLargeError);
      assert.deepEqual([error.measuredBytes, error.maxBytes, store.maxBytes], [101, 100, 100]);
      assert.match(error.message, /101.*maxBytes.*100/);
      await nothingVisible(store, scope);
      const { meta } = await store.put(scope, { ...PLAIN, data: 'x'.repeat(100) });
      assert.equal((await store.head(scope, meta.ref))?.bytes, 100);
    },
    { maxBytes: 100 },
  ),

  contractCase(
    'the limit counts bytes, not characters',
    async ({ store }, scope) => {
      const error = await refused(store.put(scope, { ...PLAIN, data: 'é'.repeat(51) }), 'artifact_too_large');
      assert.equal((error as ArtifactTooLargeError).measuredBytes, 102);
    },
    { maxBytes: 100 },
  ),

  contractCase('a chosen ref is used; one in use is refused and keeps its artifact', async ({ store }, scope) => {
    const ref = newArtifactRef();
    const { meta } = await store.put(scope, { ...PLAIN, data: 'first', ref });
    assert.equal(meta.ref, ref);
    const error = await refused(store.put(scope, { ...PLAIN, data: 'second', ref }), 'artifact_ref_taken');
    assert.match(error.message, new RegExp(ref));
    await refused(store.putStream(scope, { ...PLAIN, ref }, chunksOf('third')), 'artifact_ref_taken');
    assert.deepEqual(await store.get(scope, ref), { meta, data: 'first' });
    const other = await store.put(freshScope(), { ...PLAIN, data: 'elsewhere', ref });
    assert.equal(other.meta.ref, ref);
  }),

  contractCase('a deleted ref can be chosen again', async ({ store }, scope) => {
    const ref = newArtifactRef();
    await store.put(scope, { ...PLAIN, data: 'first', ref });
    await store.delete(scope, ref);
    await store.put(scope, { ...PLAIN, data: 'second', ref });
    assert.equal((await store.get(scope, ref))?.data, 'second');
  }),

  contractCase('parents must exist in the same scope at put, or nothing is kept', async ({ store }, scope) => {
    const elsewhere = freshScope();
    const foreign = await store.put(elsewhere, { ...PLAIN, data: 'foreign' });
    const expired = await store.put(elsewhere, { ...PLAIN, data: 'expired', expiresAt: 1 });
    const unknown = newArtifactRef();
    for (const parent of [foreign.meta.ref, unknown]) {
      const put = { ...PLAIN, parentRefs: [parent] };
      const error = await refused(store.put(scope, { ...put, data: 'x' }), 'artifact_parent_unknown');
      assert.match(error.message, new RegExp(parent));
      await refused(store.putStream(scope, put, chunksOf('x')), 'artifact_parent_unknown');
    }
    await nothingVisible(store, scope);
    const orphan = { ...PLAIN, data: 'x', parentRefs: [expired.meta.ref] };
    await refused(store.put(elsewhere, orphan), 'artifact_parent_unknown');
  }),

  contractCase('an artifact outlives its parents', async ({ store }, scope) => {
    const parent = await store.put(scope, { ...PLAIN, data: 'parent' });
    const child = await store.put(scope, { ...PLAIN, data: 'child', parentRefs: [parent.meta.ref] });
    await store.delete(scope, parent.meta.ref);
    assert.deepEqual((await store.get(scope, child.meta.ref))?.meta.parentRefs, [parent.meta.ref]);
  }),
];

async function* chunksOf(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text);
}
