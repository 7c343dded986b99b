import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type FleetTotals, mergeTotals, NO_TOTALS, totalSubjects } from '../src/index.ts';

type Summarised = Parameters<typeof totalSubjects>[0][number];

const entry = fc.record(
  { what: fc.constantFrom('a', 'b', 'c'), why: fc.constantFrom('x', 'y') },
  { requiredKeys: ['what'] },
);
const ledger = fc.record({
  checked: fc.array(entry, { maxLength: 3 }),
  notChecked: fc.array(entry, { maxLength: 2 }),
  cannotCover: fc.array(entry, { maxLength: 2 }),
});
const labels = fc.dictionary(
  fc.constantFrom('stale', 'fresh', 'constructor', '__proto__'),
  fc.tuple(fc.nat(3), fc.constantFrom('one', 'two', 'three')),
);
const summary = fc.record(
  {
    innerLedger: ledger,
    ownLedger: ledger,
    heard: fc.record({ rules: labels, defaults: labels }),
    walk: fc.record({ rows: fc.nat(9), controlRows: fc.nat(9), steps: fc.nat(9) }),
    stamp: fc.record({ source: fc.constantFrom('p', 'q') }),
  },
  { requiredKeys: ['innerLedger', 'ownLedger', 'heard', 'walk'] },
);
const subjects = fc
  .array(fc.option(summary, { nil: undefined }), { maxLength: 10 })
  .map((list) =>
    list.map((each, ordinal) => ({ ordinal, ...(each !== undefined && { summary: each }) }) as Summarised),
  );
const stored = (totals: FleetTotals) => JSON.stringify(totals, (_, value) => sorted(value));
const sorted = (value: unknown) =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;

describe('totals of a fleet', () => {
  test('do not depend on how the subjects were cut into chunks', () => {
    fc.assert(
      fc.property(subjects, fc.integer({ min: 1, max: 11 }), (list, size) => {
        const parts: FleetTotals[] = [];
        for (let at = 0; at < list.length; at += size) parts.push(totalSubjects(list.slice(at, at + size)));
        expect(stored(parts.reduce(mergeTotals, NO_TOTALS))).toBe(stored(totalSubjects(list)));
        expect(stored(totalSubjects(list.toReversed()))).toBe(stored(totalSubjects(list)));
      }),
    );
  });

  test('merge associatively, commutatively, and with nothing to the same', () => {
    fc.assert(
      fc.property(subjects, (list) => {
        const [a, b, c] = [0, 1, 2].map((part) =>
          totalSubjects(list.filter(({ ordinal }) => ordinal % 3 === part)),
        ) as [FleetTotals, FleetTotals, FleetTotals];
        expect(stored(mergeTotals(mergeTotals(a, b), c))).toBe(stored(mergeTotals(a, mergeTotals(b, c))));
        expect(stored(mergeTotals(a, b))).toBe(stored(mergeTotals(b, a)));
        expect(stored(mergeTotals(a, NO_TOTALS))).toBe(stored(a));
        expect(stored(mergeTotals(NO_TOTALS, a))).toBe(stored(a));
      }),
    );
  });

  test('survive a way through JSON', () => {
    fc.assert(
      fc.property(subjects, (list) => {
        const totals = totalSubjects(list);
        expect(stored(JSON.parse(JSON.stringify(totals)) as FleetTotals)).toBe(stored(totals));
        for (const made of [totals, mergeTotals(totals, NO_TOTALS)]) {
          expect('stamp' in made).toBe(made.stamp !== undefined);
        }
      }),
    );
  });

  const many = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, n) => ({
      ordinal: from + n,
      summary: {
        innerLedger: {
          checked: [{ what: `entry ${String(from + n).padStart(4, '0')}` }],
          notChecked: [],
          cannotCover: [],
        },
        ownLedger: { checked: [{ what: 'shared' }], notChecked: [], cannotCover: [] },
        heard: { rules: {}, defaults: {} },
        walk: { rows: 1, controlRows: 1, steps: 1 },
      },
    }));

  test('keep two hundred distinct entries and count every mention, however they are merged', () => {
    const whole = totalSubjects(many(0, 500));
    const merged = mergeTotals(
      totalSubjects(many(300, 500)),
      mergeTotals(totalSubjects(many(0, 120)), totalSubjects(many(120, 300))),
    );
    for (const { ledger: totals, walk } of [whole, merged]) {
      expect(totals.checked.kept).toHaveLength(200);
      expect(totals.checked.kept[0]).toEqual(['entry 0000', null, 1]);
      expect(totals.checked.kept.at(-1)).toEqual(['entry 0199', null, 1]);
      expect(totals.checked.mentions).toBe(1000);
      expect(walk).toEqual({ rows: 500, controlRows: 500, steps: 500 });
    }
    expect(stored(merged)).toBe(stored(whole));
  });

  test('keep entries sorted by what they say, then why, the ones without a reason first', () => {
    const entries = [{ what: 'b', why: 'y' }, { what: 'b' }, { what: 'a', why: 'z' }, { what: 'b', why: 'x' }];
    const said = (notChecked: typeof entries) =>
      totalSubjects([
        {
          ordinal: 0,
          summary: {
            innerLedger: { checked: [], notChecked, cannotCover: [] },
            ownLedger: { checked: [], notChecked: [], cannotCover: [] },
            heard: { rules: {}, defaults: {} },
            walk: { rows: 0, controlRows: 0, steps: 0 },
          },
        } as Summarised,
      ]);
    for (const given of [entries, entries.toReversed()]) {
      expect(said(given).ledger.notChecked.kept).toEqual([
        ['a', 'z', 1],
        ['b', null, 1],
        ['b', 'x', 1],
        ['b', 'y', 1],
      ]);
    }
  });

  test('of two labels that one rule spoke keep the smaller text, whichever settled first', () => {
    const heard = (label: string): FleetTotals => ({
      ...NO_TOTALS,
      heard: { rules: { stale: [0, label] }, defaults: {} },
    });
    for (const [left, right] of [
      ['a', 'b'],
      ['b', 'a'],
    ] as const) {
      expect(mergeTotals(heard(left), heard(right)).heard.rules).toEqual({ stale: [0, 'a'] });
    }
  });

  test('carry the stamp of the first subject that had one, whichever settled first', () => {
    const stamped = (ordinal: number) =>
      totalSubjects([
        {
          ...(many(ordinal, ordinal + 1)[0] as Summarised),
          summary: { ...many(0, 1)[0]?.summary, stamp: { of: ordinal } },
        } as Summarised,
      ]);
    expect(mergeTotals(stamped(7), stamped(2)).stamp).toEqual({ ordinal: 2, value: { of: 2 } });
    expect(mergeTotals(stamped(2), stamped(7)).stamp).toEqual({ ordinal: 2, value: { of: 2 } });
  });
});
