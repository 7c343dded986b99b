/** Streams in and out: bounded, whole or not at all, and stopped when told. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { ArtifactTooLargeError } from '../artifact-errors.ts';
import { newArtifactRef } from '../artifact-ref.ts';
import type { ArtifactStore } from '../artifact-store.ts';
import {
  type ContractCase,
  contractCase,
  nothingVisible,
  PLAIN,
  patternBytes,
  readAll,
  refused,
} from './contract-case.ts';

/** Longer than the part size of every object store, and no multiple of a chunk. */
const LONG = 11_000_003;

export const streamCases: readonly ContractCase[] = [
  contractCase('a stream of unknown length comes back whole, with its digest', async ({ store }, scope) => {
    const bytes = patternBytes(200_001);
    const { meta, swept } = await store.putStream(scope, { ...PLAIN, digest: 'sha-256' }, chunked(bytes, 7_777));
    assert.equal(meta.bytes, bytes.length);
    assert.equal(meta.digest, digestOf(bytes));
    assert.deepEqual(swept, []);
    assert.deepEqual(await store.head(scope, meta.ref), meta);
    assert.deepEqual(await store.get(scope, meta.ref), { meta, data: bytes });
  }),

  contractCase('web streams, declared lengths and empty sources are taken', async ({ store }, scope) => {
    const web = await store.putStream(scope, { ...PLAIN, bytes: 5 }, new Blob(['hello']).stream());
    assert.deepEqual((await store.get(scope, web.meta.ref))?.data, new TextEncoder().encode('hello'));
    const empty = await store.putStream(
      scope,
      { ...PLAIN, bytes: 0, digest: 'sha-256' },
      chunked(new Uint8Array(0), 1),
    );
    assert.deepEqual(await store.get(scope, empty.meta.ref), { meta: empty.meta, data: new Uint8Array(0) });
    const found = await store.getStream(scope, empty.meta.ref);
    assert.ok(found);
    assert.deepEqual(await readAll(found.body), new Uint8Array(0));
  }),

  contractCase(
    'a long stream comes back whole and in ranges, and its digest is kept',
    async ({ store, tamper }, scope) => {
      const bytes = patternBytes(LONG);
      const { meta } = await store.putStream(scope, { ...PLAIN, digest: 'sha-256' }, chunked(bytes, 1_000_000));
      assert.deepEqual([meta.bytes, meta.digest], [LONG, digestOf(bytes)]);
      assert.deepEqual(await store.head(scope, meta.ref), meta);
      const whole = await store.getStream(scope, meta.ref);
      assert.ok(whole);
      assert.equal(digestOf(await readAll(whole.body)), meta.digest);
      const part = await store.getStream(scope, meta.ref, { start: LONG - 9_000_000, end: LONG - 8_999_000 });
      assert.ok(part);
      assert.deepEqual(await readAll(part.body), bytes.slice(LONG - 9_000_000, LONG - 8_999_000));
      await tamper(meta.ref);
      await refused(store.get(scope, meta.ref), 'artifact_integrity');
      await store.delete(scope, meta.ref);
      await nothingVisible(store, scope);
    },
  ),

  contractCase('ranges are the bytes they name, cut to the length', async ({ store }, scope) => {
    const bytes = patternBytes(1_000);
    const { meta } = await store.put(scope, { ...PLAIN, data: bytes, digest: 'sha-256' });
    const ranges: readonly [number | undefined, number | undefined, number, number][] = [
      [undefined, undefined, 0, 1_000],
      [0, 1, 0, 1],
      [0, 1_000, 0, 1_000],
      [1, undefined, 1, 1_000],
      [undefined, 10, 0, 10],
      [999, 1_000, 999, 1_000],
      [500, 500, 500, 500],
      [990, 5_000, 990, 1_000],
      [1_000, undefined, 1_000, 1_000],
      [4_000, 5_000, 1_000, 1_000],
    ];
    for (const [start, end, from, to] of ranges) {
      const found = await store.getStream(scope, meta.ref, { start, end });
      assert.ok(found);
      assert.deepEqual(found.range, { start: from, end: to });
      assert.deepEqual(found.meta, meta);
      assert.deepEqual(await readAll(found.body), bytes.slice(from, to));
    }
    const wrong = [{ start: -1 }, { start: 2, end: 1 }, { start: 0.5 }, { end: Number.NaN }];
    for (const range of wrong) await refused(store.getStream(scope, meta.ref, range), 'artifact_invalid');
  }),

  contractCase('a range of an empty artifact is empty', async ({ store }, scope) => {
    const { meta } = await store.put(scope, { ...PLAIN, data: '' });
    const found = await store.getStream(scope, meta.ref, { start: 0, end: 10 });
    assert.ok(found);
    assert.deepEqual(found.range, { start: 0, end: 0 });
    assert.deepEqual(await readAll(found.body), new Uint8Array(0));
  }),

  contractCase(
    'a stream over maxBytes is refused while it comes, its source is stopped, and nothing is left',
    async ({ store }, scope) => {
      const source = countedSource(1_000, 100);
      const error = await refused(store.putStream(scope, PLAIN, source.chunks()), 'artifact_too_large');
      assert.ok(error instanceof ArtifactTooLargeError);
      assert.ok(error.measuredBytes > 2_500 && error.measuredBytes < 5_000, `measured ${error.measuredBytes}`);
      assert.match(error.message, /at least .*maxBytes.*2500/);
      assert.equal(await source.stopped, 'stopped early');
      await nothingVisible(store, scope);
    },
    { maxBytes: 2_500 },
  ),

  contractCase(
    'a long stream over maxBytes is refused after parts have left, and nothing is left',
    async ({ store }, scope) => {
      const ref = newArtifactRef();
      const source = countedSource(1_000_000, 20);
      await refused(
        store.putStream(scope, { ...PLAIN, ref, digest: 'sha-256' }, source.chunks()),
        'artifact_too_large',
      );
      assert.equal(await source.stopped, 'stopped early');
      assert.equal(await store.head(scope, ref), null);
      await nothingVisible(store, scope);
    },
    { maxBytes: LONG },
  ),

  contractCase(
    'a declared length over maxBytes is refused before the source is asked',
    async ({ store }, scope) => {
      const source = countedSource(10, 10);
      await refused(store.putStream(scope, { ...PLAIN, bytes: 101 }, source.chunks()), 'artifact_too_large');
      assert.equal(source.given(), 0);
    },
    { maxBytes: 100 },
  ),

  contractCase('a source of another length than declared is refused, and nothing is left', async ({ store }, scope) => {
    for (const bytes of [9, 11, 0]) {
      const put = store.putStream(scope, { ...PLAIN, bytes }, chunked(patternBytes(10), 3));
      await refused(put, 'artifact_invalid');
    }
    for (const bytes of [-1, 1.5, Number.NaN]) {
      await refused(store.putStream(scope, { ...PLAIN, bytes }, chunked(patternBytes(10), 3)), 'artifact_invalid');
    }
    await nothingVisible(store, scope);
  }),

  contractCase('a source that breaks gives its own error back, and nothing is left', async ({ store }, scope) => {
    const broken = new Error('the upload was cut off');
    for (const chunks of [0, 1, 9]) {
      const source = brokenSource(2_000_000, chunks, broken);
      await assert.rejects(
        store.putStream(scope, { ...PLAIN, digest: 'sha-256' }, source),
        (error) => error === broken,
      );
    }
    await nothingVisible(store, scope);
  }),

  contractCase('a source of something else than bytes is refused', async ({ store }, scope) => {
    const words = (async function* () {
      yield 'text' as unknown as Uint8Array;
    })();
    await refused(store.putStream(scope, PLAIN, words), 'artifact_invalid');
    await nothingVisible(store, scope);
  }),

  contractCase('an abort ends a put with its reason, even while the source hangs', async ({ store }, scope) => {
    const reason = new Error('the run was cancelled');
    const controller = new AbortController();
    const hanging = (async function* () {
      yield patternBytes(10);
      controller.abort(reason);
      await new Promise(() => {});
    })();
    const put = store.putStream(scope, PLAIN, hanging, { signal: controller.signal });
    await assert.rejects(put, (error) => error === reason);
    const late = store.putStream(scope, PLAIN, chunked(patternBytes(10), 3), { signal: controller.signal });
    await assert.rejects(late, (error) => error === reason);
    await nothingVisible(store, scope);
  }),

  contractCase('an abort ends a get with its reason', async ({ store }, scope) => {
    const { meta } = await store.putStream(scope, PLAIN, chunked(patternBytes(3_000_000), 500_000));
    const reason = new Error('the reader went away');
    const controller = new AbortController();
    const found = await store.getStream(scope, meta.ref, { signal: controller.signal });
    assert.ok(found);
    const reader = found.body.getReader();
    assert.equal((await reader.read()).done, false);
    controller.abort(reason);
    await assert.rejects(reader.read(), (error) => error === reason);
    const late = store.getStream(scope, meta.ref, { signal: controller.signal });
    await assert.rejects(late, (error) => error === reason);
  }),

  contractCase('a reader may cancel at any point, and the store goes on', async ({ store }, scope) => {
    const { meta } = await store.putStream(scope, PLAIN, chunked(patternBytes(3_000_000), 500_000));
    for (const chunks of [0, 1]) await cancelAfter(store, scope, meta.ref, chunks);
    const found = await store.get(scope, meta.ref);
    assert.ok(found?.data instanceof Uint8Array);
    assert.equal(found.data.length, 3_000_000);
  }),
];

async function cancelAfter(
  store: ArtifactStore,
  scope: Parameters<ArtifactStore['getStream']>[0],
  ref: string,
  chunks: number,
): Promise<void> {
  const found = await store.getStream(scope, ref);
  assert.ok(found);
  const reader = found.body.getReader();
  for (let read = 0; read < chunks; read += 1) await reader.read();
  await reader.cancel();
}

function digestOf(bytes: Uint8Array): string {
  return `sha-256:${createHash('sha256').update(bytes).digest('hex')}`;
}

async function* chunked(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
}

async function* brokenSource(size: number, chunks: number, error: Error): AsyncGenerator<Uint8Array> {
  for (let given = 0; given < chunks; given += 1) yield patternBytes(size);
  throw error;
}

/** A source that tells how much was taken from it and whether it was stopped before its end. */
function countedSource(size: number, chunks: number) {
  let given = 0;
  // Not Promise.withResolvers: the contract is packed for Node 20 as well.
  let resolve: (end: 'stopped early' | 'read to the end') => void = () => {};
  const stopped = new Promise<'stopped early' | 'read to the end'>((settle) => {
    resolve = settle;
  });
  async function* source(): AsyncGenerator<Uint8Array> {
    try {
      for (; given < chunks; given += 1) yield patternBytes(size);
    } finally {
      resolve(given < chunks ? 'stopped early' : 'read to the end');
    }
  }
  return { chunks: source, given: () => given, stopped };
}
