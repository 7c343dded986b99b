/** Payloads: what comes back is what was put, or an error. */
import assert from 'node:assert/strict';
import {
  type ContractCase,
  contractCase,
  nothingVisible,
  PLAIN,
  patternBytes,
  readAll,
  refused,
} from './contract-case.ts';

const ROUND_TRIPS: readonly unknown[] = [
  '',
  'plain',
  '\uFEFFa byte order mark stays',
  'line\r\nends\n\u0000and \u{1F980} and e\u0301',
  new Uint8Array(0),
  Uint8Array.of(0, 255, 239, 187, 191, 13, 10),
  null,
  true,
  0,
  [],
  {},
  { nested: [{ a: 1.5, b: null, c: 'x', é: [false] }], empty: '' },
  JSON.parse('{"__proto__":{"polluted":true},"constructor":1}'),
];

class Holder {
  readonly kept = 1;
}

const NOT_JSON: readonly [string, unknown][] = [
  ['undefined', undefined],
  ['a function', () => 1],
  ['a symbol', Symbol('s')],
  ['a bigint', { count: 1n }],
  ['NaN', { ratio: Number.NaN }],
  ['Infinity', [Number.POSITIVE_INFINITY]],
  ['undefined in an array', [undefined]],
  ['a Map', { map: new Map([['secret-payload', 1]]) }],
  ['a Set', new Set([1])],
  ['an Error', new Error('secret-payload')],
  ['a typed array that is not bytes', new Float64Array(2)],
  ['a stream', new ReadableStream()],
  ['a broken string', 'half \uD800 of a pair'],
];

export const bytesCases: readonly ContractCase[] = [
  contractCase('text, bytes and JSON come back exactly as they were put', async ({ store }, scope) => {
    for (const data of ROUND_TRIPS) {
      const { meta } = await store.put(scope, { ...PLAIN, data, digest: 'sha-256' });
      assert.deepEqual(await store.get(scope, meta.ref), { meta, data });
    }
  }),

  contractCase(
    'JSON comes back as JSON writes it: undefined properties gone, toJSON honoured',
    async ({ store }, scope) => {
      const data = { gone: undefined, at: new Date(0), holder: new Holder() };
      const { meta } = await store.put(scope, { ...PLAIN, data });
      const back = await store.get(scope, meta.ref);
      assert.deepEqual(back?.data, { at: '1970-01-01T00:00:00.000Z', holder: { kept: 1 } });
    },
  ),

  contractCase(
    'a payload that JSON would lose or change is refused, without being quoted',
    async ({ store }, scope) => {
      const cycle: { self?: unknown } = {};
      cycle.self = cycle;
      for (const [what, data] of [...NOT_JSON, ['a cycle', cycle] as const]) {
        const error = await refused(store.put(scope, { ...PLAIN, data }), 'artifact_invalid').catch((failure) => {
          throw new Error(`${what}: ${failure.message}`);
        });
        assert.doesNotMatch(error.message, /secret-payload/);
      }
      await nothingVisible(store, scope);
    },
  ),

  contractCase('changing bytes after the put or after a get does not change the artifact', async ({ store }, scope) => {
    const data = Uint8Array.of(1, 2, 3);
    const { meta } = await store.put(scope, { ...PLAIN, data });
    data.fill(9);
    const first = await store.get(scope, meta.ref);
    assert.ok(first?.data instanceof Uint8Array);
    first.data.fill(9);
    assert.deepEqual((await store.get(scope, meta.ref))?.data, Uint8Array.of(1, 2, 3));
  }),

  contractCase('a digest asked for at put is the SHA-256 of the bytes', async ({ store }, scope) => {
    const { meta } = await store.put(scope, { ...PLAIN, data: 'abc', digest: 'sha-256' });
    const expected = 'sha-256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad';
    assert.equal(meta.digest, expected);
    assert.equal((await store.head(scope, meta.ref))?.digest, expected);
    assert.equal((await store.put(scope, { ...PLAIN, data: 'abc' })).meta.digest, undefined);
  }),

  contractCase(
    'bytes that no longer match the digest are an error and never bytes',
    async ({ store, tamper }, scope) => {
      const { meta } = await store.put(scope, { ...PLAIN, data: patternBytes(5_000), digest: 'sha-256' });
      await tamper(meta.ref);
      const error = await refused(store.get(scope, meta.ref), 'artifact_integrity');
      assert.equal(error.name, 'ArtifactIntegrityError');
      assert.match(error.message, new RegExp(meta.ref));
    },
  ),

  contractCase('a stream over bytes that no longer match never ends well', async ({ store, tamper }, scope) => {
    const { meta } = await store.put(scope, { ...PLAIN, data: patternBytes(5_000), digest: 'sha-256' });
    await tamper(meta.ref);
    const found = await store.getStream(scope, meta.ref);
    assert.ok(found);
    await refused(readAll(found.body), 'artifact_integrity');
  }),
];
