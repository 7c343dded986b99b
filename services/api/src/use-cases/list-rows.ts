/**
 * Verdict rows. A fleet's rows are stored one by one and can be read while the run goes on; a procedure's rows are those
 * that its envelope shows.
 */
import { isPlainObject } from '@muster/envelope';
import { getAnswer, pageSubjects, type RunRecord, type Standing, type SubjectOutcome } from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import { decodeCursor, encodeCursor } from '../wire/cursor.ts';
import { type SubjectRow, subjectRow } from '../wire/subject-row.ts';
import { envelopeRows } from './envelope-rows.ts';
import { findRun, type RunReader, runNotFound, scopeOfRun } from './find-run.ts';

export interface RowsQuery {
  readonly standing?: Standing | undefined;
  readonly verdict?: string | undefined;
  readonly outcome?: SubjectOutcome | undefined;
  readonly target?: string | undefined;
  readonly after?: string | undefined;
  readonly limit: number;
  readonly evidence: boolean;
}

export interface RowPage {
  readonly run_id: string;
  readonly run_status: RunRecord['status'];
  readonly rows: SubjectRow[];
  readonly next_after?: string;
  /** For a procedure: how many rows there were, when its envelope shows fewer. */
  readonly rows_total?: number;
  readonly rows_complete?: boolean;
}

/** A page of rows by ordinal. @throws Problem `run_not_found`, `unknown_cursor` */
export async function listRows(deps: ApiDeps, reader: RunReader, runId: string, query: RowsQuery): Promise<RowPage> {
  const run = await findRun(deps, reader, runId);
  const after = query.after === undefined ? -1 : decodeCursor('rows', query.after);
  const head = { run_id: run.id, run_status: run.status };
  if (run.form === 'procedure') return { ...head, ...(await procedureRows(deps, reader, run, { ...query, after })) };
  const { standing, verdict, outcome, target, limit } = query;
  const page = await pageSubjects(deps.db, {
    ...scopeOfRun(reader, run.id),
    after,
    limit,
    ...(standing !== undefined && { standing }),
    ...(verdict !== undefined && { verdict }),
    ...(outcome !== undefined && { outcome }),
    ...(target !== undefined && { target }),
  });
  if (page === undefined) throw runNotFound();
  const rows = page.rows.map((record) => subjectRow(record, query));
  return { ...head, rows, ...(page.nextAfter !== undefined && { next_after: encodeCursor('rows', page.nextAfter) }) };
}

async function procedureRows(
  deps: ApiDeps,
  reader: RunReader,
  run: RunRecord,
  query: Omit<RowsQuery, 'after'> & { after: number },
): Promise<Omit<RowPage, 'run_id' | 'run_status'>> {
  const answer = await getAnswer(deps.db, scopeOfRun(reader, run.id));
  const result = answer?.kind === 'envelope' && isPlainObject(answer.body) ? answer.body.result : undefined;
  if (!isPlainObject(result)) return { rows: [] };
  const verdicts = deps.catalog.byDigest.get(run.definitionDigest)?.runbook.verdicts;
  const fits = (row: SubjectRow) =>
    row.ordinal > query.after &&
    (['standing', 'verdict', 'outcome', 'target'] as const).every(
      (field) => query[field] === undefined || row[field] === query[field],
    );
  const found = envelopeRows(result.verdicts, verdicts).filter(fits);
  const rows = found.slice(0, query.limit);
  const last = rows.at(-1);
  return {
    rows,
    ...(last !== undefined && found.length > rows.length && { next_after: encodeCursor('rows', last.ordinal) }),
    ...(typeof result.rows_total === 'number' && { rows_total: result.rows_total }),
    ...(typeof result.rows_complete === 'boolean' && { rows_complete: result.rows_complete }),
  };
}
