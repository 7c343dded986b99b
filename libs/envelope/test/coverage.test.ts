import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  ABSENCE_NOTE,
  absenceSignalOf,
  absent,
  COVERAGE_NOTE,
  type CoverageOptions,
  coverage,
  type Ledger,
  mergeLedgers,
  RunbookAbsenceSignal,
  readAbsence,
  readCoverageResult,
} from '../src/index.ts';
import { thrownBy } from './procedures.ts';

describe('coverage', () => {
  test('a list that is empty is absent, and the note says what the lists mean', () => {
    expect(coverage('content', { checked: ['a'], notChecked: [] })).toEqual({
      af_coverage: { checked: [{ what: 'a' }], note: COVERAGE_NOTE },
      result: 'content',
    });
  });

  test('all three lists come out under their wire names, each entry trimmed', () => {
    const wrapped = coverage(1, {
      checked: [' a ', { what: ' b ', why: ' c ' }],
      notChecked: ['d'],
      cannotCover: [{ what: 'e', why: 'f' }],
    });
    expect(Object.keys(wrapped.af_coverage)).toEqual(['checked', 'not_checked', 'cannot_cover', 'note']);
    expect(wrapped.af_coverage).toMatchObject({
      checked: [{ what: 'a' }, { what: 'b', why: 'c' }],
      not_checked: [{ what: 'd' }],
      cannot_cover: [{ what: 'e', why: 'f' }],
    });
  });

  test.each<[string, unknown, RegExp]>([
    ['nothing at all', {}, /all three are empty/],
    ['no options', undefined, /all three are empty/],
    ['three empty lists', { checked: [], notChecked: [], cannotCover: [] }, /all three are empty/],
    ['a list that is none', { checked: 'a' }, /checked must be a list, got string/],
    ['a blank entry', { checked: [' '] }, /^coverage: checked\[0\] must be a non-empty string/],
    ['an entry without what', { notChecked: ['a', { why: 'b' }] }, /notChecked\[1\] must be/],
    ['a why that is no text', { checked: [{ what: 'a', why: 1 }] }, /checked\[0\] must be/],
    ['cannotCover without a why', { cannotCover: [{ what: 'a' }] }, /cannotCover\[0\] must be \{ what, why \}/],
    ['cannotCover as a bare string', { cannotCover: ['a'] }, /cannotCover\[0\] must be \{ what, why \}/],
    ['cannotCover with a blank why', { cannotCover: [{ what: 'a', why: ' ' }] }, /cannotCover\[0\] must be/],
    [
      'a key of the wire',
      { checked: ['a'], not_checked: ['b'] },
      /not_checked is no list; there are checked, notChecked, cannotCover$/,
    ],
  ])('%s is refused at the call', (_, options, message) => {
    expect(thrownBy(() => coverage('content', options as CoverageOptions))).toBeInstanceOf(TypeError);
    expect(() => coverage('content', options as CoverageOptions)).toThrow(message);
  });
});

describe('absent', () => {
  test('an absence says what was looked for and where, and that asking again gives the same', () => {
    const absence = absent({
      what: ' rows ',
      checked: ['the store'],
      notChecked: ['the archive'],
      cannotCover: [{ what: 'the peer', why: 'no route' }],
      tryInstead: ' ask the peer ',
    });
    expect(JSON.stringify(absence)).toBe(
      JSON.stringify({
        af_absent: true,
        outcome: 'nothing_found',
        looked_for: 'rows',
        checked: [{ what: 'the store' }],
        not_checked: [{ what: 'the archive' }],
        cannot_cover: [{ what: 'the peer', why: 'no route' }],
        retry_returns_the_same: true,
        try_instead: 'ask the peer',
        note: ABSENCE_NOTE,
      }),
    );
  });

  test('what does not apply is absent, a blank hint included', () => {
    const keys = Object.keys(absent({ what: 'rows', checked: ['the store'], tryInstead: '  ' }));
    expect(keys).toEqual(['af_absent', 'outcome', 'looked_for', 'checked', 'retry_returns_the_same', 'note']);
  });

  test.each([
    ['nothing looked for', { what: ' ', checked: ['a'] }, /what must be a non-empty string/],
    ['no place', { what: 'rows', checked: [] }, /checked must have at least one entry/],
    ['no list of places', { what: 'rows' }, /checked must have at least one entry/],
    ['a malformed place', { what: 'rows', checked: [{}] }, /^absent: checked\[0\]/],
    [
      'a blind spot without a reason',
      { what: 'rows', checked: ['a'], cannotCover: [{ what: 'b' }] },
      /cannotCover\[0\]/,
    ],
    ['no options', undefined, /what must be/],
  ])('%s is refused', (_, options, message) => {
    expect(() => absent(options as never)).toThrow(message);
  });

  test('nothing of the request is put into the note', () => {
    const note = (what: string) => absent({ what, checked: ['a'] }).note;
    expect(note('one thing')).toBe(note('another'));
  });
});

describe('recognition is strict', () => {
  class Shaped {
    af_absent = true;
    checked = ['a'];
  }
  test.each<[string, unknown]>([
    ['text', 'af_absent'],
    ['a list', [{ af_absent: true }]],
    ['a class instance', new Shaped()],
    ['a truthy marker', { af_absent: 1, checked: [{ what: 'a' }] }],
    ['no checked', { af_absent: true }],
    ['an empty checked', { af_absent: true, checked: [] }],
    ['a checked that is no list', { af_absent: true, checked: 'a' }],
  ])('%s is no absence', (_, value) => {
    expect(readAbsence(value)).toBeUndefined();
  });

  test.each<[string, unknown]>([
    ['a coverage without a result', { af_coverage: {} }],
    ['a result without a coverage', { result: 1 }],
    ['a coverage that is no object', { af_coverage: [], result: 1 }],
    ['a result that is inherited', Object.create({ result: 1, af_coverage: {} })],
    ['null', null],
  ])('%s is no coverage', (_, value) => {
    expect(readCoverageResult(value)).toBeUndefined();
  });

  test('a null prototype is as plain as a literal', () => {
    const value = Object.assign(Object.create(null), { af_coverage: { checked: ['a'] }, result: undefined });
    expect(readCoverageResult(value)?.declared[0]?.coverage.checked).toEqual([{ what: 'a' }]);
  });

  test('a coverage around an absence is both, the ledger first', () => {
    const absence = absent({ what: 'rows', checked: ['the store'] });
    const reading = readCoverageResult(coverage(absence, { notChecked: ['the archive'] }));
    expect(reading?.status).toBe('absent');
    expect(reading?.declared.map(({ kind }) => kind)).toEqual(['ledger', 'absence']);
    expect(reading?.declared[1]?.coverage.checked).toEqual([{ what: 'the store' }]);
    expect(readAbsence(coverage(absence, { checked: ['a'] }))).toBe(absence);
    expect(readCoverageResult(absence)).toMatchObject({ status: 'absent', declared: [{ kind: 'absence' }] });
  });

  test('a malformed entry of a foreign ledger is dropped, a malformed why costs itself, both spellings are read', () => {
    const foreign = {
      checked: ['a', '', 7, { what: 'b', why: null }, { what: ' ' }, { what: 'c', why: 3 }],
      not_checked: ['d', { what: 'k', why: ' ' }],
      notChecked: [{ what: 'e' }, 'd', { why: 'of nothing' }],
      cannot_cover: ['f', { what: 'g' }, { what: 'h', why: 'i' }],
      cannotCover: [{ what: 'j', why: 'k' }],
    };
    expect(readCoverageResult({ af_coverage: foreign, result: 1 })?.declared[0]?.coverage).toEqual({
      checked: [{ what: 'a' }, { what: 'b' }, { what: 'c' }],
      notChecked: [{ what: 'd' }, { what: 'k' }, { what: 'e' }],
      cannotCover: [
        { what: 'h', why: 'i' },
        { what: 'j', why: 'k' },
      ],
    });
  });
});

describe('the absence signal', () => {
  const signal = new RunbookAbsenceSignal(absent({ what: 'rows', checked: ['a'] }), 'source');

  test('it is found anywhere down the cause chain', () => {
    const wrapped = new Error('outer', { cause: new Error('inner', { cause: { cause: signal } }) });
    expect(absenceSignalOf(wrapped)).toBe(signal);
    expect(absenceSignalOf(signal)).toBe(signal);
  });

  test('a chain without it, or one that leads back to itself, gives none', () => {
    const loop: { cause?: unknown } = {};
    loop.cause = { cause: loop };
    expect(absenceSignalOf(loop)).toBeUndefined();
    expect(absenceSignalOf(new Error('plain'))).toBeUndefined();
    expect(absenceSignalOf('text')).toBeUndefined();
    expect(absenceSignalOf(null)).toBeUndefined();
  });

  test('it names itself and the tool, and tells nothing of what was looked for', () => {
    const signal = new RunbookAbsenceSignal(absent({ what: 'rows', checked: ['a'] }), 'source');
    expect(signal.name).toBe('RunbookAbsenceSignal');
    expect(signal.tool).toBe('source');
    expect(signal.message).toContain("'source'");
    expect(signal.message).not.toContain('rows');
  });
});

const entry = fc.record(
  { what: fc.constantFrom('a', 'b', 'c', 'd'), why: fc.constantFrom('x', 'y') },
  { requiredKeys: ['what'] },
);
const ledger: fc.Arbitrary<Ledger> = fc.record({
  checked: fc.array(entry, { maxLength: 6 }),
  notChecked: fc.array(entry, { maxLength: 6 }),
  cannotCover: fc.array(entry, { maxLength: 6 }),
});
const asSets = ({ checked, notChecked, cannotCover }: Ledger) =>
  [checked, notChecked, cannotCover].map((list) => new Set(list.map((item) => JSON.stringify([item.what, item.why]))));

describe('merging ledgers', () => {
  test('is associative', () => {
    fc.assert(
      fc.property(ledger, ledger, ledger, (a, b, c) => {
        const left = mergeLedgers([mergeLedgers([a, b]), c]);
        expect(left).toEqual(mergeLedgers([a, mergeLedgers([b, c])]));
        expect(left).toEqual(mergeLedgers([a, b, c]));
      }),
    );
  });

  test('is commutative up to order', () => {
    fc.assert(
      fc.property(ledger, ledger, (a, b) => {
        expect(asSets(mergeLedgers([a, b]))).toEqual(asSets(mergeLedgers([b, a])));
      }),
    );
  });

  test('is idempotent, and loses nothing', () => {
    fc.assert(
      fc.property(ledger, (a) => {
        const once = mergeLedgers([a]);
        expect(mergeLedgers([once, once, a])).toEqual(once);
        expect(asSets(once)).toEqual(asSets(a));
      }),
    );
  });

  test('two entries are one only when what and why are the same', () => {
    const list = [{ what: 'a' }, { what: 'a', why: 'x' }, { what: 'a', why: 'x' }, { what: 'a', why: 'null' }];
    expect(mergeLedgers([{ checked: list, notChecked: [], cannotCover: [] }]).checked).toEqual([
      { what: 'a' },
      { what: 'a', why: 'x' },
      { what: 'a', why: 'null' },
    ]);
  });
});
