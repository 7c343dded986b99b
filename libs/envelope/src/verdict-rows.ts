/**
 * Verdict rows and their table.
 *
 * Invariants (contract "Verdict projection"): one cap for list and table, the same rows in both; columns are the first
 * row's keys in their order; an identifier is never cut and stays byte for byte but for unsafe characters.
 */
import { cleanJson, cleanText } from './clean-text.ts';
import { isPlainObject } from './plain-object.ts';

/** How many rows an answer shows when the runbook does not say. */
export const DEFAULT_MAX_ROWS = 50;

/** The reserved word: no classification was reached. */
export const DECLINED_VERDICT = 'declined';

/** One row: anything with a string `verdict`. */
export interface VerdictRow {
  readonly verdict: string;
  readonly [column: string]: unknown;
}

/** The rule beside a table that was rendered in advance. */
export const VERDICT_RENDER_NOTE =
  'The table shows exactly the rows of `verdicts`, rendered in advance. Give it to the reader VERBATIM, character for character: an identifier that is typed again may look right and match nothing. When rows_complete is false, say how many of rows_total are shown.';

/** The rule when the client draws the rows itself. */
export const PANEL_RENDER_NOTE =
  "The reader's own panel already shows the rows of `verdicts`. Do not repeat them in your answer: no table, no bullets, not one sentence per row. When your answer names a row, quote the evidence sentence that the row carries VERBATIM. Cite only the values that the finding rests on, copied byte-for-byte.";

/** The sentence in place of an empty table. */
export const NO_ROWS_SENTENCE = 'No rows: nothing was assessed.';

/** What stands for a value that is not there. */
const NO_VALUE = '—';

/** Reads the rowset off a final state: the bags with a string `verdict` under the key `verdicts`, in their order. */
export function verdictRowsOf(state: Readonly<Record<string, unknown>>): VerdictRow[] {
  const rows: unknown = state.verdicts;
  if (!Array.isArray(rows)) return [];
  return rows.filter((row): row is VerdictRow => isPlainObject(row) && typeof row.verdict === 'string').map(cleanRow);
}

/** A row with text from outside made inert. */
export function cleanRow(row: VerdictRow): VerdictRow {
  return cleanJson(row) as VerdictRow;
}

/** The rows as a Markdown table; a plain sentence when there are none. */
export function renderVerdictTable(rows: readonly Readonly<Record<string, unknown>>[]): string {
  const first = rows[0];
  if (first === undefined) return NO_ROWS_SENTENCE;
  const columns = Object.keys(first);
  const lines = [
    `| ${columns.map(renderCell).join(' | ')} |`,
    `|${columns.map(() => '---').join('|')}|`,
    ...rows.map((row) => `| ${columns.map((column) => renderCell(columnOf(row, column))).join(' | ')} |`),
  ];
  return lines.join('\n');
}

/** One value as text of a Markdown cell: {@link cellText} with its bars escaped. */
export function renderCell(value: unknown): string {
  // A backslash before a bar would eat the bar's own escape.
  return cellText(value).replace(/(\\*)\|/g, '$1$1\\|');
}

/** One value as one line of text; a dash when it is not there. */
export function cellText(value: unknown): string {
  if (value === true) return 'yes';
  if (value === false) return 'no';
  if (value === null || value === undefined) return NO_VALUE;
  const text = typeof value === 'string' ? value : typeof value === 'object' ? jsonText(value) : String(value);
  return cleanText(text).replace(/\r\n|[\r\n\t\u2028\u2029]/g, ' ') || NO_VALUE;
}

/** A row's own value of a column: what its prototype has is no value. */
export function columnOf(row: Readonly<Record<string, unknown>>, column: string): unknown {
  return Object.hasOwn(row, column) ? row[column] : undefined;
}

function jsonText(value: object): string {
  return JSON.stringify(cleanJson(value));
}
