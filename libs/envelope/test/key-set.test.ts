/** A set of keys that is exact (see the head of `key-set.ts`). */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { KeySet } from '../src/key-set.ts';

test('it holds what a Set holds, and tells which keys are new, whatever the keys', () => {
  const keys = fc.array(fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('a', 'b', 'ab', '', 'ü')), {
    maxLength: 400,
  });
  fc.assert(
    fc.property(keys, (list) => {
      const [expected, set] = [new Set<string>(), new KeySet()];
      for (const key of list) {
        expect(set.has(key)).toBe(expected.has(key));
        expect(set.add(key)).toBe(!expected.has(key));
        expected.add(key);
      }
      expect(set.size).toBe(expected.size);
    }),
  );
});

test('it stays exact over many doublings and pages, and a key met again takes no room', () => {
  const set = new KeySet();
  const name = (index: number) => `cluster-${index % 7}/namespace/${'x'.repeat(index % 50)}/pod-${index}`;
  for (let index = 0; index < 60_000; index++) expect(set.add(name(index))).toBe(true);
  for (let index = 0; index < 60_000; index++) expect(set.add(name(index))).toBe(false);
  expect(set.size).toBe(60_000);
  expect(set.add('another')).toBe(true);
});

test('keys are as long as they are, up to its limit', () => {
  const set = new KeySet();
  const long = 'k'.repeat(21_845);
  expect([set.add(long), set.add(long.slice(1)), set.add(long)]).toEqual([true, true, false]);
  expect(() => set.add(`${long}k`)).toThrow(RangeError);
});
