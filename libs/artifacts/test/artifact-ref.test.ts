import { expect, test } from 'vitest';
import { isArtifactRef, newArtifactRef } from '../src/index.ts';

test('a new ref has the form of a ref, and no two are the same', () => {
  const refs = Array.from({ length: 2_000 }, newArtifactRef);
  for (const ref of refs) expect(ref).toMatch(/^art_[0-9A-Za-z]{22}$/);
  expect(refs.every(isArtifactRef)).toBe(true);
  expect(new Set(refs).size).toBe(refs.length);
});

test('every character of the alphabet comes, and none far more often than another', () => {
  const counts = new Map<string, number>();
  for (let made = 0; made < 5_000; made += 1) {
    for (const character of newArtifactRef().slice(4)) counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  // 110,000 characters, 1,774 of each expected, standard deviation 42: ten of them are never seen by chance. Taking a
  // byte modulo 62 without rejection would give eight characters 2,148.
  expect(counts.size).toBe(62);
  for (const count of counts.values()) expect(Math.abs(count - 1_774)).toBeLessThan(350);
});

test('what only looks like a ref is none', () => {
  const good = newArtifactRef();
  const wrong = [`${good}0`, good.slice(0, -1), ` ${good}`, `${good}\n`, good.replace('_', '-'), good.toUpperCase()];
  for (const value of [...wrong, 'art_', '', null, undefined, 7, [good]]) expect(isArtifactRef(value)).toBe(false);
});
