/** The clone of chart threads gives what Node's own gives (see the head of `plain-clone.ts`). */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { plainClone } from '../src/threads/plain-clone.ts';

const native = globalThis.structuredClone;
const clone = plainClone(native);

/** Values with everything that `structuredClone` knows. */
const values = fc.anything({
  withBigInt: true,
  withDate: true,
  withMap: true,
  withSet: true,
  withBoxedValues: true,
  withTypedArray: true,
  withSparseArray: true,
  withNullPrototype: true,
  withObjectString: true,
  maxDepth: 4,
  maxKeys: 8,
});

test('whatever the value, it equals a clone of Node', () => {
  fc.assert(
    fc.property(values, (value) => {
      expect(isDeepStrictEqual(clone(value), native(value))).toBe(true);
    }),
    { numRuns: 2000 },
  );
});

test('whatever a value holds twice, its clone holds once', () => {
  fc.assert(
    fc.property(values, values, (shared, other) => {
      const copy = clone({ first: shared, other, second: [shared] });
      expect(Object.is(copy.first, copy.second[0])).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test('nothing of the copy is the original, however deep', () => {
  const value: { list: { deep: { deeper: unknown[] } }[] } = { list: [{ deep: { deeper: [1, { last: true }] } }] };
  const copy = clone(value);
  expect(copy).toEqual(value);
  copy.list[0]!.deep.deeper[1] = 'changed';
  expect(value.list[0]!.deep.deeper[1]).toEqual({ last: true });
});

describe('what is no small tree of plain values is left to Node', () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  const shared = { one: 1 };
  class Special {
    readonly kind = 'special';
  }

  test('a value that contains itself, and one that is met twice', () => {
    const copy = clone(cycle);
    expect(copy.self).toBe(copy);
    const pair = clone([shared, shared]);
    expect(pair[0]).toBe(pair[1]);
  });

  test('a large value', () => {
    const large = Array.from({ length: 500 }, (_, index) => ({ index, at: new Date(index) }));
    expect(clone(large)).toEqual(large);
  });

  test('instances, maps, dates, errors, holes and extra properties of arrays', () => {
    const extra = Object.assign([1, 2], { note: 'kept' });
    const holes = new Array(3).fill(1, 0, 1);
    for (const value of [new Special(), new Map([[1, shared]]), new Date(5), new Error('e'), holes, extra]) {
      expect(isDeepStrictEqual(clone({ value }), native({ value }))).toBe(true);
    }
  });

  test('transfers', () => {
    const { buffer } = new Uint8Array([1, 2, 3]);
    expect(clone({ buffer }, { transfer: [buffer] }).buffer.byteLength).toBe(3);
    expect(buffer.byteLength).toBe(0);
  });

  test.each([
    ['a function', () => 1],
    ['a symbol', Symbol('s')],
    ['a function inside', { deep: [() => 1] }],
    ['a proxy', new Proxy({}, {})],
    ['a proxy inside', { deep: new Proxy([], {}) }],
  ])('%s cannot be cloned, with the same error', (_what, value) => {
    expect(() => clone(value)).toThrow(expect.objectContaining({ name: 'DataCloneError' }));
  });

  test('a key named __proto__ stays a key', () => {
    const value = JSON.parse('{"__proto__":{"polluted":true}}');
    expect(Object.keys(clone(value))).toEqual(Object.keys(native(value)));
    expect(Object.getPrototypeOf(clone(value))).toBe(Object.prototype);
  });
});
