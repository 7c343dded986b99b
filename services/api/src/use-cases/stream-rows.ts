/**
 * Every row of a run as text, page by page.
 *
 * Invariants:
 * - memory holds one page, however many rows there are;
 * - what can be refused is refused before the first byte; what fails after it breaks the stream off, so that half a table
 *   is not taken for a whole one.
 */
import type { RunRecord } from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import { csvLine } from '../wire/csv.ts';
import { FIXED_COLUMNS, flatRow } from '../wire/flat-row.ts';
import type { SubjectRow } from '../wire/subject-row.ts';
import type { RunReader } from './find-run.ts';
import { listRows, type RowsQuery } from './list-rows.ts';

/** Filters of rows; always all pages. */
export type RowsFilter = Omit<RowsQuery, 'after' | 'limit'>;

/** All rows of a run, and how it stood when they were begun: of one that goes on they are those settled so far. */
export interface RowStream {
  readonly runStatus: RunRecord['status'];
  readonly text: AsyncGenerator<string>;
}

const PAGE_ROWS = 1_000;
/** More columns than this go into the last one as JSON: a row must not widen the whole table without bound. */
const MAX_COLUMNS = 512;
const REST = 'other_columns';

/** One JSON object a line. @throws Problem `run_not_found` */
export async function streamRowsAsNdjson(
  deps: ApiDeps,
  reader: RunReader,
  runId: string,
  filter: RowsFilter,
): Promise<RowStream> {
  return begun(deps, reader, runId, filter, async function* (pages) {
    for await (const rows of pages) yield rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  });
}

/**
 * A table with a header. Which columns there are is known when all rows were seen, so they are read twice; what comes up
 * only the second time, while a run goes on, stands in the column `other_columns`.
 *
 * @throws Problem `run_not_found`
 */
export async function streamRowsAsCsv(
  deps: ApiDeps,
  reader: RunReader,
  runId: string,
  filter: RowsFilter,
): Promise<RowStream> {
  const columns = await findColumns(deps, reader, runId, filter);
  return begun(deps, reader, runId, filter, async function* (pages) {
    yield csvLine([...columns, REST]);
    for await (const rows of pages) yield rows.map((row) => tableLine(row, columns)).join('');
  });
}

/** Reads the first page before anything is promised. */
async function begun(
  deps: ApiDeps,
  reader: RunReader,
  runId: string,
  filter: RowsFilter,
  write: (pages: AsyncIterable<SubjectRow[]>) => AsyncGenerator<string>,
): Promise<RowStream> {
  const first = await listRows(deps, reader, runId, { ...filter, limit: PAGE_ROWS });
  async function* pages() {
    yield first.rows;
    for (let after = first.next_after; after !== undefined; ) {
      const page = await listRows(deps, reader, runId, { ...filter, limit: PAGE_ROWS, after });
      yield page.rows;
      after = page.next_after;
    }
  }
  return { runStatus: first.run_status, text: write(pages()) };
}

async function findColumns(deps: ApiDeps, reader: RunReader, runId: string, filter: RowsFilter): Promise<Set<string>> {
  const columns = new Set<string>(FIXED_COLUMNS);
  let after: string | undefined;
  do {
    const page = await listRows(deps, reader, runId, { ...filter, limit: PAGE_ROWS, after });
    for (const row of page.rows) {
      for (const name of flatRow(row).keys()) if (columns.size < MAX_COLUMNS) columns.add(name);
    }
    after = page.next_after;
  } while (after !== undefined);
  return columns;
}

function tableLine(row: SubjectRow, columns: ReadonlySet<string>): string {
  const cells = flatRow(row);
  const rest = [...cells].filter(([name]) => !columns.has(name));
  const more = rest.length === 0 ? undefined : JSON.stringify(Object.fromEntries(rest));
  return csvLine([...[...columns].map((name) => cells.get(name)), more]);
}
