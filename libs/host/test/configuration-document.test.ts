/** docs/configuration.md is the table of settings, row by row. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { SETTINGS } from '../src/index.ts';

const document = readFileSync(new URL('../../../docs/configuration.md', import.meta.url), 'utf8');

/** The cells of a table's row, without what a formatter may change: alignment and the sign of emphasis. */
function cells(row: string): string[] {
  return row
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim().replace(/[*_]\(secret\)[*_]/, '(secret)'));
}

test('the document lists every setting, in the order of the table, with its purpose and what it is when unset', () => {
  const rows = document.split('\n').filter((line) => /^\| `/.test(line));
  const expected = Object.values(SETTINGS).map((setting) => {
    const secret = 'secret' in setting ? ' (secret)' : '';
    return [`\`${setting.name}\``, `${setting.purpose}${secret}`, setting.unset];
  });
  expect(rows.map(cells)).toEqual(expected);
});

test('no two settings share a name', () => {
  const names = Object.values(SETTINGS).map((setting) => setting.name);
  expect(new Set(names).size).toBe(names.length);
});
