/**
 * Reading subject rows. A run's rows lie in the partition of its instant of acceptance, so every function first looks
 * the run up in the reader's scope and then names that partition.
 */

import type { Queryable } from './database.ts';
import type { OutcomeCounts } from './packed-subjects.ts';
import type { RunScope } from './run-record.ts';
import { runInScope } from './runs.ts';

export type SubjectOutcome = 'verdict' | 'declined' | 'not_checked' | 'cannot_cover';
export type Standing = 'ok' | 'problem' | 'declined';

/** How one subject ended. */
export interface SubjectRecord {
  readonly ordinal: number;
  readonly key: string;
  readonly identity: string | null;
  readonly target: string | null;
  readonly outcome: SubjectOutcome;
  readonly verdict: string | null;
  readonly standing: Standing | null;
  readonly reasonCode: string | null;
  readonly reason: string | null;
  readonly columns: unknown;
  readonly evidence: unknown;
  readonly walkRef: string | null;
  readonly walkOffset: number | null;
  readonly walkLength: number | null;
  readonly walkSha256: string | null;
  readonly recordingRef: string | null;
  readonly recordingOffset: number | null;
  readonly recordingLength: number | null;
  readonly recordingSha256: string | null;
  /** Why there is no recording, where one was asked for. */
  readonly recordingNote: string | null;
  readonly settledAt: Date;
}

/** A page of subjects by ordinal. `nextAfter` is there when more follow: the ordinal to go on behind. */
export interface SubjectPage {
  readonly rows: readonly SubjectRecord[];
  readonly nextAfter?: number;
}

/** Filters and page of {@link pageSubjects}. */
export interface SubjectQuery extends RunScope {
  readonly standing?: Standing;
  readonly verdict?: string;
  readonly outcome?: SubjectOutcome;
  readonly target?: string;
  readonly after?: number;
  readonly limit: number;
}

/** Subjects without a verdict that share a reason. */
export interface ReasonGroup {
  readonly outcome: 'not_checked' | 'cannot_cover';
  readonly reasonCode: string;
  readonly reason: string | null;
  readonly count: number;
  /** The first keys by ordinal. */
  readonly sampleKeys: readonly string[];
}

/** Groups in the order of their first subjects; what is over the limit is counted. */
export interface ReasonGroups {
  readonly groups: readonly ReasonGroup[];
  readonly restGroups: number;
  readonly restSubjects: number;
}

const SUBJECT_COLUMNS = `ordinal, key, identity, target, outcome, verdict, standing, reason_code as "reasonCode", reason,
  columns, evidence, walk_ref as "walkRef", walk_offset as "walkOffset", walk_length as "walkLength",
  walk_sha256 as "walkSha256", recording_ref as "recordingRef", recording_offset as "recordingOffset",
  recording_length as "recordingLength", recording_sha256 as "recordingSha256", recording_note as "recordingNote",
  settled_at as "settledAt"`;
const SAMPLE_KEYS = 5;
const REASON_GROUPS = 200;

/** A page of subjects by ordinal; undefined when the run is not visible in this scope. */
export async function pageSubjects(db: Queryable, query: SubjectQuery): Promise<SubjectPage | undefined> {
  const run = await runInScope(db, query);
  if (run === undefined) return undefined;
  const { rows } = await db.query<SubjectRecord>(
    `select ${SUBJECT_COLUMNS} from muster.subjects
      where run_created_at = $1 and run_id = $2 and ordinal > $3
        and ($4::text is null or standing = $4) and ($5::text is null or verdict = $5)
        and ($6::text is null or outcome = $6) and ($7::text is null or target = $7)
      order by ordinal limit $8`,
    [
      run.createdAt,
      run.id,
      query.after ?? -1,
      query.standing ?? null,
      query.verdict ?? null,
      query.outcome ?? null,
      query.target ?? null,
      query.limit + 1,
    ],
  );
  const page = rows.slice(0, query.limit);
  return rows.length > page.length ? { rows: page, nextAfter: page.at(-1)!.ordinal } : { rows: page };
}

/** The subject of that key; undefined when there is none, or the run is not visible in this scope. */
export async function getSubject(db: Queryable, query: RunScope & { key: string }): Promise<SubjectRecord | undefined> {
  const run = await runInScope(db, query);
  if (run === undefined) return undefined;
  const { rows } = await db.query<SubjectRecord>(
    `select ${SUBJECT_COLUMNS} from muster.subjects where run_created_at = $1 and run_id = $2 and key = $3`,
    [run.createdAt, run.id, query.key],
  );
  return rows[0];
}

/** The rows that head an answer: problem, declined, ok, and by ordinal within each (DESIGN decision 10). */
export async function headRows(db: Queryable, query: RunScope & { limit: number }): Promise<SubjectRecord[]> {
  const run = await runInScope(db, query);
  if (run === undefined) return [];
  const head: SubjectRecord[] = [];
  for (const standing of ['problem', 'declined', 'ok']) {
    if (head.length >= query.limit) break;
    const { rows } = await db.query<SubjectRecord>(
      `select ${SUBJECT_COLUMNS} from muster.subjects
        where run_created_at = $1 and run_id = $2 and standing = $3 order by ordinal limit $4`,
      [run.createdAt, run.id, standing, query.limit - head.length],
    );
    head.push(...rows);
  }
  return head;
}

/** Subjects without a verdict, grouped by outcome and reason; at most `limit` groups, 200 by default. */
export async function notCheckedGroups(db: Queryable, query: RunScope & { limit?: number }): Promise<ReasonGroups> {
  const run = await runInScope(db, query);
  if (run === undefined) return { groups: [], restGroups: 0, restSubjects: 0 };
  const { rows } = await db.query<ReasonGroup & { place: number; allGroups: number; allSubjects: number }>(
    `select outcome, reason_code as "reasonCode", reason, count(*) as count,
        (array_agg(key order by ordinal))[1:${SAMPLE_KEYS}] as "sampleKeys", min(ordinal) as place,
        count(*) over () as "allGroups", sum(count(*)) over ()::bigint as "allSubjects"
      from muster.subjects
      where run_created_at = $1 and run_id = $2 and outcome in ('not_checked', 'cannot_cover')
      group by outcome, reason_code, reason order by place limit $3`,
    [run.createdAt, run.id, query.limit ?? REASON_GROUPS],
  );
  const groups = rows.map(({ place: _place, allGroups: _groups, allSubjects: _subjects, ...group }) => group);
  const shown = groups.reduce((sum, group) => sum + group.count, 0);
  return {
    groups,
    restGroups: (rows[0]?.allGroups ?? 0) - groups.length,
    restSubjects: (rows[0]?.allSubjects ?? 0) - shown,
  };
}

/** What the rows themselves say, for the check against the chunks and the total. */
export async function countOutcomes(db: Queryable, scope: RunScope): Promise<OutcomeCounts & { total: number }> {
  const run = await runInScope(db, scope);
  if (run === undefined) return { total: 0, ok: 0, problem: 0, declined: 0, notChecked: 0, cannotCover: 0 };
  const { rows } = await db.query<OutcomeCounts & { total: number }>(
    `select count(*) as total, count(*) filter (where standing = 'ok') as ok,
        count(*) filter (where standing = 'problem') as problem,
        count(*) filter (where standing = 'declined') as declined,
        count(*) filter (where outcome = 'not_checked') as "notChecked",
        count(*) filter (where outcome = 'cannot_cover') as "cannotCover"
      from muster.subjects where run_created_at = $1 and run_id = $2`,
    [run.createdAt, run.id],
  );
  return rows[0]!;
}
