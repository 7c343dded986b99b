/** A row as one level of cells: nested names are joined by dots, lists are JSON. */
import { isPlainObject } from '@muster/envelope';
import type { Cell } from './csv.ts';
import type { SubjectRow } from './subject-row.ts';

/** Columns that every table has, in this order; the runbook's own follow as `columns.NAME`. */
export const FIXED_COLUMNS = [
  'ordinal',
  'subject',
  'identity',
  'target',
  'outcome',
  'verdict',
  'standing',
  'reason',
  'reason_code',
] as const satisfies readonly (keyof SubjectRow)[];

/** Deeper values are one cell of JSON. */
const MAX_DEPTH = 4;

/** The cells of a row by the names of their columns. */
export function flatRow(row: SubjectRow): Map<string, Cell> {
  const cells = new Map<string, Cell>();
  for (const [name, value] of Object.entries(row)) put(cells, name, value, 1);
  return cells;
}

function put(cells: Map<string, Cell>, name: string, value: unknown, depth: number): void {
  if (isPlainObject(value) && depth < MAX_DEPTH && Object.keys(value).length > 0) {
    for (const [key, inner] of Object.entries(value)) put(cells, `${name}.${key}`, inner, depth + 1);
    return;
  }
  cells.set(name, isScalar(value) ? value : JSON.stringify(value));
}

function isScalar(value: unknown): value is Cell {
  return value === null || ['string', 'number', 'boolean', 'undefined'].includes(typeof value);
}
