/** Verdict rows. A fleet's can be read while the run goes on, a procedure's when it has ended. */
import {
  isFinal,
  pageSubjects,
  type RowStanding,
  type RunRecord,
  rowStandings,
  type Standing,
  type SubjectOutcome,
  type SubjectRecord,
} from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import { decodeCursor, encodeCursor } from '../wire/cursor.ts';
import { type SubjectRow, subjectRow } from '../wire/subject-row.ts';
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
}

/** A page of rows by ordinal. @throws Problem `run_not_found`, `unknown_cursor` */
export async function listRows(deps: ApiDeps, reader: RunReader, runId: string, query: RowsQuery): Promise<RowPage> {
  const run = await findRun(deps, reader, runId);
  const after = query.after === undefined ? -1 : decodeCursor('rows', query.after);
  const head = { run_id: run.id, run_status: run.status };
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
  const known = await knownOf(deps, run, page.rows);
  const rows = page.rows.map((record) => subjectRow(record, { ...query, known: known.get(identityOf(record)) }));
  return { ...head, rows, ...(page.nextAfter !== undefined && { next_after: encodeCursor('rows', page.nextAfter) }) };
}

/** How long its rows have stood so; nothing is known of that before the run is over. */
async function knownOf(
  { db }: ApiDeps,
  run: RunRecord,
  rows: readonly SubjectRecord[],
): Promise<ReadonlyMap<string, RowStanding>> {
  return isFinal(run.status) ? await rowStandings(db, run, rows.map(identityOf)) : new Map();
}

function identityOf({ identity, key }: SubjectRecord): string {
  return identity ?? key;
}
