/** Who belongs to a canary, and how a plan is cut into two waves. */
import type { PlannedSubject } from '@muster/envelope';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CanaryBuffer, chooseCanary } from '../src/canary.ts';
import { ChunkBuffer } from '../src/chunk-buffer.ts';

const targets = Array.from({ length: 2000 }, (_, number) => ({ key: `m${number}`, target: `rack ${number}` }));

test('a share of the targets belongs to it, another one in each run, and in one run always the same', () => {
  const chosen = (runId: string) => targets.filter(chooseCanary(runId, 10)).map(({ target }) => target);
  const [first, again, other] = [chosen('run-1'), chosen('run-1'), chosen('run-2')];
  expect(again).toEqual(first);
  for (const some of [first, other]) expect(some.length / targets.length).toBeCloseTo(0.1, 1);
  expect(other.filter((target) => first.includes(target)).length).toBeLessThan(first.length / 2);
});

test('it has at least one target, whatever the share, and all of them at a hundred percent', () => {
  expect(targets.filter(chooseCanary('run-1', 1e-9))).toEqual([targets[0]]);
  expect(targets.filter(chooseCanary('run-1', 100))).toEqual(targets);
});

test('a target is in it whole, and a subject without a target is one by itself', () => {
  const isCanary = chooseCanary('run-1', 30);
  const sameTarget = Array.from({ length: 50 }, (_, number) => ({ key: `m${number}`, target: 'rack 7' }));
  expect(new Set(sameTarget.map(isCanary)).size).toBe(1);
  const loose = Array.from({ length: 200 }, (_, number) => ({ key: `m${number}` }));
  const share = loose.filter(chooseCanary('run-1', 30)).length / loose.length;
  expect(share).toBeGreaterThan(0.15);
  expect(share).toBeLessThan(0.45);
});

test('a key that is spelled like a target does not stand for it', () => {
  const spelled = targets.map(({ target }) => ({ key: target }));
  const byTarget = targets.filter(chooseCanary('run-1', 20)).map(({ target }) => target);
  const byKey = spelled.filter(chooseCanary('run-1', 20)).map(({ key }) => key);
  expect(byKey).not.toEqual(byTarget);
});

test('however a plan is paged, each subject is in one chunk, at its place, with those of its wave, in order', () => {
  const cases = fc.record({
    racks: fc.array(fc.option(fc.nat({ max: 5 }), { nil: undefined }), { maxLength: 60 }),
    size: fc.integer({ min: 1, max: 8 }),
    page: fc.integer({ min: 1, max: 9 }),
    percent: fc.integer({ min: 1, max: 100 }),
  });
  fc.assert(
    fc.property(cases, ({ racks, size, page, percent }) => {
      const subjects: PlannedSubject[] = racks.map((rack, ordinal) => ({
        ordinal,
        key: `m${ordinal}`,
        ...(rack !== undefined && { target: `rack ${rack}` }),
        subject: ordinal,
      }));
      let ids = 0;
      const openBuffer = (wave: number) =>
        new ChunkBuffer(
          size,
          () => `c${ids++}`,
          (_id, items) => items,
          wave,
        );
      const buffer = new CanaryBuffer(chooseCanary('run', percent), openBuffer);
      const chunks = [];
      for (let at = 0; at < subjects.length; at += page) chunks.push(...buffer.add(subjects.slice(at, at + page)));
      chunks.push(...buffer.flush());
      const isCanary = chooseCanary('run', percent);
      const expected = subjects.map((subject) => (isCanary(subject) ? 0 : 1));
      const seen = chunks.flatMap(({ firstOrdinal, keys, items, wave = 0, size: held }) => {
        expect(keys).toHaveLength(held);
        const places = keys.map(([, , , ordinal], index) => ordinal ?? firstOrdinal + index);
        expect(places.toSorted((a, b) => a - b)).toEqual(places);
        expect(places[0]).toBe(firstOrdinal);
        expect(JSON.parse(items.toString())).toEqual(places);
        expect(places.map((place) => expected[place])).toEqual(places.map(() => wave));
        return places;
      });
      expect(seen.toSorted((a, b) => a - b)).toEqual(subjects.map(({ ordinal }) => ordinal));
      // At most one chunk of each wave is not full.
      expect(chunks.filter((chunk) => chunk.size < size).length).toBeLessThanOrEqual(2);
    }),
  );
});
