/**
 * Rows as CSV (RFC 4180), safe to open in a spreadsheet.
 *
 * Invariant: no cell is read as a formula. Text that begins with `=`, `+`, `-` or `@`, after spaces too, gets an
 * apostrophe in front; numbers stay numbers.
 */
import { cleanText } from './clean-text.ts';
import { columnOf } from './verdict-rows.ts';

/** Renders rows with a header line. Columns are the first row's keys in their order; a missing value is empty. */
export function renderCsv(rows: readonly Readonly<Record<string, unknown>>[]): string {
  const columns = Object.keys(rows[0] ?? {});
  if (columns.length === 0) return '';
  const lines = [columns, ...rows.map((row) => columns.map((column) => columnOf(row, column)))];
  return lines.map((cells) => `${cells.map(csvCell).join(',')}\r\n`).join('');
}

function csvCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const text = cleanText(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
  const inert = /^(?:\s*[=+\-@]|[\t\r])/.test(text) ? `'${text}` : text;
  return /[",\r\n\t']|^\s|\s$/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}
