/** Rows as text: what a spreadsheet and a line reader get. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { csvLine } from '../src/wire/csv.ts';
import { flatRow } from '../src/wire/flat-row.ts';
import { chooseRowFormat } from '../src/wire/row-format.ts';

/** Reads one line of CSV back, as RFC 4180 has it. */
function readLine(line: string): string[] {
  const cells: string[] = [];
  let cell = '';
  let quoted = false;
  for (let at = 0; at < line.length - 2; at += 1) {
    const sign = line[at]!;
    if (quoted && sign === '"' && line[at + 1] === '"') {
      cell += '"';
      at += 1;
    } else if (sign === '"') quoted = !quoted;
    else if (sign === ',' && !quoted) {
      cells.push(cell);
      cell = '';
    } else cell += sign;
  }
  return [...cells, cell];
}

describe('a line of CSV', () => {
  test('what is written can be read back, whatever the text is', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' }), { minLength: 1 }), (texts) => {
        const line = csvLine(texts);
        expect(line.endsWith('\r\n')).toBe(true);
        const read = readLine(line);
        expect(read.map((cell, index) => (cell === `'${texts[index]}` ? texts[index] : cell))).toEqual(texts);
      }),
    );
  });

  test('no text begins as a formula does', () => {
    const starts = ['=', '+', '-', '@', '\t', '\r', '\n', '\uff1d', '\uff0b', '\uff0d', '\uff20'];
    fc.assert(
      fc.property(fc.constantFrom(...starts), fc.string(), (start, rest) => {
        expect(readLine(csvLine([start + rest]))).toEqual([`'${start}${rest}`]);
      }),
    );
    expect(csvLine(['=HYPERLINK("http://a.example")'])).toBe('"\'=HYPERLINK(""http://a.example"")"\r\n');
  });

  test('numbers stay numbers, and nothing is an empty cell', () => {
    expect(csvLine([-5, 1.5e21, true, null, undefined, ''])).toBe('-5,1.5e+21,true,,,\r\n');
  });
});

test('nested values get names with dots, and lists and what is too deep are one cell of JSON', () => {
  const row = {
    ordinal: 0,
    subject: 's',
    outcome: 'verdict',
    columns: { a: { b: { c: { d: 1 } } }, list: [1, { x: 2 }], none: null, empty: {} },
    walk: { ref: 'r', offset: 1, length: 2, sha256: 'f' },
  } as const;
  expect(Object.fromEntries(flatRow(row))).toEqual({
    ordinal: 0,
    subject: 's',
    outcome: 'verdict',
    'columns.a.b.c': '{"d":1}',
    'columns.list': '[1,{"x":2}]',
    'columns.none': null,
    'columns.empty': '{}',
    'walk.ref': 'r',
    'walk.offset': 1,
    'walk.length': 2,
    'walk.sha256': 'f',
  });
});

test.each<[string | undefined, string]>([
  [undefined, 'json'],
  ['*/*', 'json'],
  ['text/csv', 'csv'],
  ['application/x-ndjson', 'ndjson'],
  ['application/json;q=0.1, text/csv;q=0.9', 'csv'],
  ['text/csv;q=0, application/json', 'json'],
  ['text/html, */*;q=0.8', 'json'],
  ['image/png', 'json'],
  ['text/csv;q=x, application/x-ndjson;q=0.5', 'ndjson'],
])('Accept: %s gives %s', (accept, format) => {
  expect(chooseRowFormat(undefined, accept)).toBe(format);
  expect(chooseRowFormat('csv', accept)).toBe('csv');
});
