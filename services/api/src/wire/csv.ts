/**
 * CSV as spreadsheets read it (RFC 4180): CRLF, quotes doubled.
 *
 * Invariant: no text from outside is a formula. What a spreadsheet would take for one is written with an apostrophe in
 * front, which it shows as text; numbers stay numbers.
 */

/** A scalar of a row. Null and undefined are empty cells. */
export type Cell = string | number | boolean | null | undefined;

/** Also in their full-width forms: some spreadsheets read these as the plain ones. */
const FORMULA_START = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/;
const NEEDS_QUOTES = /[",\r\n]|^\s|\s$/;

/** One line, with its end. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

function csvCell(cell: Cell): string {
  if (cell === null || cell === undefined) return '';
  if (typeof cell !== 'string') return String(cell);
  const text = FORMULA_START.test(cell) ? `'${cell}` : cell;
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
