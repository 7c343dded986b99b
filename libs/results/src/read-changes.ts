/** Reading what changed in a run, and where things stand in the scopes of a tenant. */

import {
  type ChangeCounts,
  type ChangeWord,
  COUNTED_WORDS,
  changeCounts,
  type GoneUntold,
  type Sweep,
  type SweepOutcome,
} from './changes.ts';
import type { Queryable } from './database.ts';
import type { RunScope } from './run-record.ts';
import { runInScope } from './runs.ts';

/** How an identity is known to stand. */
export type KnownStanding = 'ok' | 'problem';

/** One edge of a run: an identity that stands otherwise than before, or still as badly. */
export interface ChangeRecord {
  readonly ordinal: number;
  readonly identity: string;
  readonly subjectKey: string;
  readonly target: string | null;
  readonly change: ChangeWord;
  /** What was last known; null: never anything. */
  readonly fromStanding: KnownStanding | null;
  /** Null: unknown now, or gone. */
  readonly toStanding: KnownStanding | null;
  readonly fromVerdict: string | null;
  readonly toVerdict: string | null;
  readonly reasonCode: string | null;
  readonly reason: string | null;
  readonly standingSince: Date | null;
  readonly lastOkAt: Date | null;
  readonly sweepsInStanding: number;
}

/** What is last known of an identity. */
export interface StandingRecord {
  readonly scopeId: number;
  readonly id: number;
  readonly runbookName: string;
  readonly scopeKey: string;
  readonly identity: string;
  readonly subjectKey: string;
  readonly target: string | null;
  /** Null: never known. */
  readonly standing: KnownStanding | null;
  readonly verdict: string | null;
  /** Of a problem. */
  readonly reason: string | null;
  readonly standingSince: Date | null;
  readonly lastOkAt: Date | null;
  readonly sweepsInStanding: number;
  /** Set while it is unknown: its standing is then what was known before. */
  readonly unknownSince: Date | null;
  readonly unknownReasonCode: string | null;
  readonly unknownReason: string | null;
  readonly lastRunId: string;
  readonly rulesVersion: string | null;
}

export interface ChangePage {
  readonly rows: readonly ChangeRecord[];
  /** The ordinal to go on behind, when more follow. */
  readonly nextAfter?: number;
}

/** The place of a standing in its list. */
export interface StandingPlace {
  readonly scopeId: number;
  readonly id: number;
}

export interface StandingPage {
  readonly rows: readonly StandingRecord[];
  readonly nextAfter?: StandingPlace;
}

const CHANGE_COLUMNS = `ordinal, identity, subject_key as "subjectKey", target, change, from_standing as "fromStanding",
  to_standing as "toStanding", from_verdict as "fromVerdict", to_verdict as "toVerdict", reason_code as "reasonCode",
  reason, standing_since as "standingSince", last_ok_at as "lastOkAt", sweeps_in_standing as "sweepsInStanding"`;
const STANDING_COLUMNS = `scope_id as "scopeId", id, runbook_name as "runbookName", scope_key as "scopeKey", identity,
  subject_key as "subjectKey", target, standing, verdict, reason, standing_since as "standingSince",
  last_ok_at as "lastOkAt", sweeps_in_standing as "sweepsInStanding", unknown_since as "unknownSince",
  unknown_reason_code as "unknownReasonCode", unknown_reason as "unknownReason", last_run_id as "lastRunId",
  rules_version as "rulesVersion"`;

/** What came of looking for changes in a run; undefined when nobody looked, or the run is not visible in this scope. */
export async function getSweep(db: Queryable, scope: RunScope): Promise<Sweep | undefined> {
  if ((await runInScope(db, scope)) === undefined) return undefined;
  const { rows } = await db.query<SweepRow>(
    `select runbook_name as "runbookName", scope_key as "scopeKey", outcome, against_run_id as "againstRunId",
        against_now as "againstNow", gone_untold as "goneUntold", ${COUNTED_WORDS.join(', ')}
      from muster.sweeps where run_id = $1`,
    [scope.runId],
  );
  const row = rows[0];
  if (row === undefined) return undefined;
  const { runbookName, scopeKey, outcome, againstRunId, againstNow, goneUntold } = row;
  const against = againstRunId === null ? null : { runId: againstRunId, now: againstNow as Date };
  return { runId: scope.runId, runbookName, scopeKey, outcome, against, goneUntold, counts: changeCounts(row) };
}

interface SweepRow extends ChangeCounts {
  readonly runbookName: string;
  readonly scopeKey: string;
  readonly outcome: SweepOutcome;
  readonly againstRunId: string | null;
  readonly againstNow: Date | null;
  readonly goneUntold: GoneUntold | null;
}

/** A page of a run's changes, the ones to look at first first; none for a run that is not visible in this scope. */
export async function pageChanges(
  db: Queryable,
  query: RunScope & {
    readonly changes?: readonly ChangeWord[];
    readonly target?: string;
    readonly after?: number;
    readonly limit: number;
  },
): Promise<ChangePage> {
  if ((await runInScope(db, query)) === undefined) return { rows: [] };
  const { rows } = await db.query<ChangeRecord>(
    `select ${CHANGE_COLUMNS} from muster.changes
      where run_id = $1 and ordinal > $2 and ($3::text[] is null or change = any($3)) and ($4::text is null or target = $4)
      order by ordinal limit $5`,
    [query.runId, query.after ?? -1, query.changes ?? null, query.target ?? null, query.limit + 1],
  );
  const page = rows.slice(0, query.limit);
  return rows.length > page.length ? { rows: page, nextAfter: page.at(-1)!.ordinal } : { rows: page };
}

/** A page of what is last known in a tenant's scopes, in the order in which scopes and identities came up. */
export async function pageStandings(
  db: Queryable,
  query: {
    readonly tenant: string;
    readonly runbook?: string;
    readonly scopeKey?: string;
    /** `unknown`: what was seen last without a verdict, however it stood before. */
    readonly standing?: KnownStanding | 'unknown';
    readonly target?: string;
    readonly after?: StandingPlace;
    readonly limit: number;
  },
): Promise<StandingPage> {
  const { rows } = await db.query<StandingRecord>(
    `select ${STANDING_COLUMNS} from muster.standings
      where tenant = $1 and ($2::text is null or runbook_name = $2) and ($3::text is null or scope_key = $3)
        and ${ONLY[query.standing ?? 'any']} and ($4::text is null or target = $4) and (scope_id, id) > ($5, $6)
      order by scope_id, id limit $7`,
    [
      query.tenant,
      query.runbook ?? null,
      query.scopeKey ?? null,
      query.target ?? null,
      query.after?.scopeId ?? 0,
      query.after?.id ?? 0,
      query.limit + 1,
    ],
  );
  const page = rows.slice(0, query.limit);
  const { scopeId, id } = page.at(-1) ?? { scopeId: 0, id: 0 };
  return rows.length > page.length ? { rows: page, nextAfter: { scopeId, id } } : { rows: page };
}

/** Written out, so that each finds its index. */
const ONLY = {
  any: 'true',
  ok: `standing = 'ok'`,
  problem: `standing = 'problem'`,
  unknown: 'unknown_since is not null',
};
