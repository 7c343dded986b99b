import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  cleanJson,
  cleanLine,
  cleanText,
  errorIdentity,
  type RunbookEnvelope,
  renderCsv,
  renderEnvelope,
} from '../src/index.ts';
import { fleetOf, runAnswered } from './fleet-runbook.ts';
import { MemorySink } from './memory-sink.ts';
import { answer, writes } from './procedures.ts';

describe('text from outside', () => {
  test.each([
    ['an ANSI colour', 'a\u001b[1;31mb', 'ab'],
    ['an eight-bit ANSI sequence', 'a\u009b31mb', 'ab'],
    ['a terminated hyperlink', 'a\u001b]8;;http://x\u0007b\u001b]8;;\u001b\\c', 'abc'],
    ['an open command, which may not swallow the rest', 'a\u001b]0;title', 'a0;title'],
    ['a lone escape', 'a\u001b', 'a'],
    ['control characters', 'a\u0000\u0008\u007f\u0085b', 'ab'],
    ['bidirectional controls', 'a\u202e\u2066\u200f\u061cb', 'ab'],
    ['zero-width characters', 'a\u200b\u200d\u2060\ufeff\u00adb', 'ab'],
    ['tags, selectors and fillers', 'a\u{e0041}\ufe0f\u{e0100}\u3164\u115f\u034fb', 'ab'],
    ['a lone surrogate', 'a\ud800b', 'a\ufffdb'],
    ['tabs and newlines, which stay', 'a\tb\nc\r', 'a\tb\nc\r'],
    ['plain text of any script, which stays', 'é ☃ 日本 𝕏 | ~', 'é ☃ 日本 𝕏 | ~'],
  ])('is inert: %s', (_, text, expected) => {
    expect(cleanText(text)).toBe(expected);
  });

  test('cleaning twice is cleaning once, and nothing unsafe is left', () => {
    const nasty = fc.array(
      fc.constantFrom('a', '\u001b', '[', '3', 'm', ']', '\u0007', '\u009b', '\u200b', '\u202e', '\ud800', '\n'),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          nasty.map((parts) => parts.join('')),
        ),
        (text) => {
          const clean = cleanText(text);
          expect(cleanText(clean)).toBe(clean);
          expect(clean).not.toMatch(
            /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\p{Default_Ignorable_Code_Point}]/u,
          );
          expect(clean.isWellFormed()).toBe(true);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('printable ASCII is never touched', () => {
    fc.assert(fc.property(fc.string({ unit: 'grapheme-ascii' }), (text) => cleanText(text) === text));
  });

  test('a line is one line of at most so many letters', () => {
    expect(cleanLine('a\r\n\t\u2028b', 10)).toBe('a b');
    expect(cleanLine('abcdef', 6)).toBe('abcdef');
    expect(cleanLine('abcdefg', 6)).toBe('abcde…');
    expect(cleanLine(`${'\u200b'.repeat(3)}abc`, 3)).toBe('abc');
    expect(cleanLine('abcd\ud83d\ude00xyz', 6).isWellFormed()).toBe(true);
  });

  test('JSON is cleaned whole, keys included, and what is no JSON is left out', () => {
    const value = {
      'k\u200b': ['a\u0007', 1, Number.NaN, true, null, undefined, 3n],
      nothing: undefined,
      call: () => 1,
      mark: Symbol('x'),
      when: new Date(0),
    };
    expect(cleanJson(value)).toEqual({ k: ['a', 1, null, true, null, null, '3'], when: '1970-01-01T00:00:00.000Z' });
    const own = cleanJson(JSON.parse('{"__proto__": {"a": "b"}}')) as object;
    expect(Object.getOwnPropertyNames(own)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(own)).toBe(Object.prototype);
    expect(Object.getOwnPropertyDescriptor(own, '__proto__')).toEqual(
      Object.getOwnPropertyDescriptor({ plain: { a: 'b' } }, 'plain'),
    );
  });

  test('a value that contains itself comes to an end', () => {
    const loop: Record<string, unknown> = { name: 'x' };
    loop.self = loop;
    expect(JSON.stringify(cleanJson(loop))).toContain('null');
    const list: unknown[] = [];
    list.push(list);
    expect(JSON.stringify(cleanJson(list))).toContain('null');
    const changing = { toJSON: () => changing };
    expect(cleanJson(changing)).toBeNull();
  });

  test('what lies within sixty-four levels stays, and what lies deeper is null', () => {
    const nested = (levels: number): unknown => (levels === 0 ? 'core' : { in: nested(levels - 1) });
    expect(cleanJson(nested(64))).toEqual(nested(64));
    expect(JSON.stringify(cleanJson(nested(65)))).toBe(JSON.stringify(nested(65)).replace('{"in":"core"}', 'null'));
  });

  test.each([
    [new TypeError('secret'), 'TypeError'],
    [Object.assign(new Error('secret'), { code: 'ECONNREFUSED' }), 'Error (ECONNREFUSED)'],
    [Object.assign(new Error('secret'), { code: 23505 }), 'Error (23505)'],
    [Object.assign(new Error('x'), { name: 'secret name', code: 'se cret' }), 'Error'],
    [Object.assign(new Error('x'), { code: { a: 1 } }), 'Error'],
    ['secret', 'Error'],
    [null, 'Error'],
    [{ name: 'Odd.Name_1' }, 'Odd.Name_1'],
    [{ name: ['secret'] }, 'Error'],
  ])('an error is its name and code: %s', (error, identity) => {
    expect(errorIdentity(error)).toBe(identity);
  });
});

describe('CSV', () => {
  test('has a header and one line for each row, as RFC 4180 writes them', () => {
    const rows = [
      { subject: 'a,b', verdict: 'fine', age: 2, ready: true, none: null },
      { verdict: 'say "x"', subject: 'two\nlines', age: -3, extra: 'unseen' },
    ];
    expect(renderCsv(rows)).toBe(
      'subject,verdict,age,ready,none\r\n"a,b",fine,2,true,\r\n"two\nlines","say ""x""",-3,,\r\n',
    );
    expect(renderCsv([])).toBe('');
  });

  test.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '  =1', '\u200b=1', '\tx', '\rx'])(
    'text %j is no formula',
    (text) => {
      const cell = renderCsv([{ a: text }]).slice(3, -2);
      expect(cell).toMatch(/^"?'/);
    },
  );

  test.each(['a=1', '1-1', 'x@y', 'a b c', ''])('text %j stays as it is', (text) => {
    expect(renderCsv([{ a: text }])).toBe(`a\r\n${text}\r\n`);
  });

  test('no cell of any text is read as a formula, and every text comes back', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const line = renderCsv([{ a: text }]).slice(3, -2);
        const cell = line.startsWith('"') ? line.slice(1, -1).replaceAll('""', '"') : line;
        expect(cell).not.toMatch(/^\s*[=+\-@]/);
        expect([cleanText(text), `'${cleanText(text)}`]).toContain(cell);
      }),
      { numRuns: 300 },
    );
  });

  test('text with a space at an edge is quoted, so that no reader takes it off', () => {
    expect(renderCsv([{ a: ' b', c: 'd ' }])).toBe('a,c\r\n" b","d "\r\n');
  });

  test('a value that JSON cannot carry is an empty cell', () => {
    expect(renderCsv([{ a: () => 1, b: undefined, c: 1 }])).toBe('a,b,c\r\n,,1\r\n');
  });

  test('objects are their JSON, and a name of a column is no formula either', () => {
    expect(renderCsv([{ '=a': { b: [1] } }])).toBe('"\'=a"\r\n"{""b"":[1]}"\r\n');
  });
});

describe('an envelope for people', () => {
  const LONG = `ns/${'x'.repeat(300)}`;
  const rows = [
    { subject: LONG, verdict: 'broken', standing: 'problem', reason: 'it | fails\nbadly' },
    { subject: 'b', verdict: 'fine', standing: 'ok', reason: 'works' },
    { subject: 'c', verdict: 'declined', standing: 'declined', reason: 'unread' },
  ];
  const make = (options = {}): Promise<RunbookEnvelope> =>
    answer({
      verdicts: { decider: 'd', maxRows: 2 },
      procedure: writes({
        verdicts: rows,
        coverage: {
          checked: ['the\u001b[31m inventory'],
          notChecked: [{ what: 'x', why: 'y' }],
          cannotCover: [{ what: 'blind', why: 'no eyes' }],
        },
      }),
      ...options,
    });

  test('on a terminal: the sentence, the rows, all three lists, the walk; nothing unsafe, no identifier cut', async () => {
    const text = renderEnvelope(await make(), { format: 'terminal' });
    expect(text).toContain(`problem  broken  ${LONG}  it | fails badly`);
    expect(text).toContain('ok       fine    b');
    expect(text).toContain('2 of 3 rows are shown.');
    for (const part of [
      'Ran ',
      'Checked\n  the inventory',
      'Not checked\n  x (y)',
      'Cannot be covered\n  blind (no eyes)',
      'Walk\n',
    ]) {
      expect(text).toContain(part);
    }
    expect(text).not.toContain('\u001b');
  });

  test('colours are ours alone, and only when asked for', async () => {
    const text = renderEnvelope(await make(), { format: 'terminal', color: true });
    expect(text).toContain('\u001b[31mproblem  broken\u001b[0m');
    expect(text).toContain('\u001b[32mok       fine  \u001b[0m');
    expect(text).toContain('\u001b[1mNot checked\u001b[0m');
    expect(text).toContain('\u001b[2mworks\u001b[0m');
    const all = renderEnvelope(await make({ verdicts: { decider: 'd' } }), { format: 'terminal', color: true });
    expect(all).toContain('\u001b[33mdeclined  declined\u001b[0m');
    expect(text).toContain('the inventory');
    expect(renderEnvelope(await make(), { format: 'markdown', color: true })).not.toContain('\u001b');
  });

  test('as Markdown: the table of the envelope, rendered anew where a panel has none', async () => {
    const prose = await make();
    const text = renderEnvelope(prose, { format: 'markdown' });
    expect(text).toContain(prose.result.table);
    expect(text).toContain('## Not checked\n- x (y)');
    const panel = renderEnvelope(await make({ presentation: 'panel' }), { format: 'markdown' });
    expect(panel).toContain(prose.result.table);
  });

  test('without rows of its kind there is no table, and an empty list has no heading', async () => {
    const text = renderEnvelope(await answer({ resultKind: 'x', procedure: writes({}) }), { format: 'terminal' });
    expect(text).toMatch(/^Ran 'check' [^\n]*\n\nChecked\n[^\n]*\n\nWalk\n[^\n]*$/);
    expect(text).not.toContain('Not checked');
    expect(text).toContain('No artifact store');
    const none = renderEnvelope(await answer({ procedure: writes({}) }), { format: 'terminal' });
    expect(none).toContain('No rows: nothing was assessed.');
  });

  test('rows without standing or reason show their own columns', async () => {
    const bare = await answer({
      procedure: writes({ verdicts: [{ subject: 'a', verdict: 'fine', age: 2, ready: true }] }),
    });
    expect(renderEnvelope(bare, { format: 'terminal' })).toContain('\nfine  a  age 2, ready yes\n');
  });

  const SENTENCE =
    "Ran 'check' under no declared rule set: 1 step(s) recorded; 3 row(s) assessed, 1 declined (no classification reached); 2 not-checked item(s) declared.";
  const DECLINED =
    "1 row(s) that reached NO classification (verdict 'declined') (the rules found no signal that they could judge by; these rows are neither fine nor faulty)";
  const filed = () =>
    answer(
      {
        verdicts: { decider: 'd', maxRows: 2 },
        procedure: writes({
          verdicts: [{ ...rows[0], subject: 'ns/a' }, ...rows.slice(1)],
          coverage: {
            checked: ['  a\n  b'],
            notChecked: [{ what: 'x', why: 'y\tz' }],
            cannotCover: [{ what: 'blind', why: 'no eyes' }],
          },
        }),
      },
      { artifacts: new MemorySink() },
    );

  test('its parts have one order, a blank line between them, and its columns stand below each other', async () => {
    expect(renderEnvelope(await filed(), { format: 'terminal' }).split('\n')).toEqual([
      SENTENCE,
      '',
      'problem  broken  ns/a  it | fails badly',
      'ok       fine    b     works',
      '',
      '2 of 3 rows are shown.',
      '',
      'Checked',
      '  a b',
      "  the procedure 'check': 1 step(s) recorded under no declared rule set",
      '',
      'Not checked',
      '  x (y z)',
      `  ${DECLINED}`,
      '',
      'Cannot be covered',
      '  blind (no eyes)',
      '',
      'Walk',
      '3 of 3 walk rows, 1 steps: art_0000000000000000000001',
    ]);
  });

  test('its Markdown has headings, lists and a table', async () => {
    expect(renderEnvelope(await filed(), { format: 'markdown' }).split('\n')).toEqual([
      SENTENCE,
      '',
      '| subject | verdict | standing | reason |',
      '|---|---|---|---|',
      '| ns/a | broken | problem | it \\| fails badly |',
      '| b | fine | ok | works |',
      '',
      '2 of 3 rows are shown.',
      '',
      '## Checked',
      '- a b',
      "- the procedure 'check': 1 step(s) recorded under no declared rule set",
      '',
      '## Not checked',
      '- x (y z)',
      `- ${DECLINED}`,
      '',
      '## Cannot be covered',
      '- blind (no eyes)',
      '',
      '## Walk',
      '3 of 3 walk rows, 1 steps: art_0000000000000000000001',
    ]);
  });

  test('without its colours a coloured text is the plain one', async () => {
    const painted = renderEnvelope(await filed(), { format: 'terminal', color: true });
    expect(painted.replaceAll(/\u001b\[\d+m/g, '')).toBe(renderEnvelope(await filed(), { format: 'terminal' }));
    expect(painted.match(/\u001b\[\d+m/g)).toHaveLength(2 * (2 + 2 + 4));
    expect(painted).toContain('\u001b[1mChecked\u001b[0m');
    expect(painted).toContain('\u001b[1mCannot be covered\u001b[0m');
    expect(painted).toContain('\u001b[1mWalk\u001b[0m');
  });

  test('a standing that has no colour has none', async () => {
    const odd = await answer({
      procedure: writes({ verdicts: [{ subject: 'a', verdict: 'fine', standing: 'odd', reason: 'r' }] }),
    });
    const text = renderEnvelope(odd, { format: 'terminal', color: true });
    expect(text).toContain('\nodd  fine  a  \u001b[2mr\u001b[0m\n');
  });

  test('all rows are shown without a word of it, and a walk that was not filed says why', async () => {
    const text = renderEnvelope(await make({ verdicts: { decider: 'd' } }), { format: 'terminal' });
    expect(text).not.toContain('rows are shown');
    expect(text).toMatch(/\nWalk\n3 of 3 walk rows, 1 steps\. No artifact store [^\n]*$/);
  });

  test("a fleet's counts come first, with their denominator; blind spots are counted where there are any", async () => {
    const subjects = [
      { id: 'a', age: 9 },
      { id: 'b', age: 10 },
      { id: 'c', age: 1 },
      { id: 'd', age: null },
      { id: 'e', act: 'throw' as const },
    ];
    const { envelope } = await runAnswered(fleetOf(subjects));
    expect(renderEnvelope(envelope, { format: 'terminal' }).split('\n\n').slice(0, 3)).toEqual([
      '2 problem, 1 declined, 1 ok, 1 not checked: of 5 subjects',
      envelope.af_coverage.sentence,
      [
        'problem   stale     a  older than 7 days',
        'problem   stale     b  older than 7 days',
        'declined  declined  d  the age cannot be read',
        'ok        fresh     c  within 7 days',
      ].join('\n'),
    ]);
    const counts = { total: 9, ok: 0, problem: 2, declined: 3, not_checked: 1, cannot_cover: 3 };
    const blind = { ...envelope, result: { ...envelope.result, subjects: counts } };
    expect(renderEnvelope(blind, { format: 'markdown' })).toMatch(
      /^2 problem, 3 declined, 0 ok, 1 not checked, 3 cannot be covered: of 9 subjects\n\n/,
    );
  });

  test('columns stand below each other where some rows have no standing, and a row tells its own columns but once', async () => {
    const mixed = await answer({
      procedure: writes({
        verdicts: [
          { subject: 'a', verdict: 'fine', age: 2, size: null },
          { subject: 'bb', verdict: 'broken', standing: 'problem', age: 3 },
          { subject: 'ccc', verdict: 'fine', standing: 7, reason: '' },
        ],
      }),
    });
    const [, table] = renderEnvelope(mixed, { format: 'terminal' }).split('\n\n');
    expect(table?.split('\n')).toEqual([
      '         fine    a    age 2, size —',
      'problem  broken  bb   age 3',
      '         fine    ccc  —',
    ]);
  });
});
