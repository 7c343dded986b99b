/**
 * What changed since the last sweep of a scope, found in SQL by the transaction that finishes the run.
 *
 * Invariants:
 * - sweeps of one scope are recorded one after the other, under the lock of its row, and in the order of acceptance: a
 *   run that comes late leaves the standings alone;
 * - a run is compared with what was last KNOWN of an identity. What is unknown is never fixed and replaces nothing;
 * - an identity stands as the worst of its rows: a problem, else what was not looked at, else what is unknown, else ok;
 * - what goes on as it was is not written again: a sweep costs what it changed, and reading the rest;
 * - what a stopped run did not look at stays as it was, and only a whole run over a whole plan tells that things are gone;
 * - dry runs, reruns of a part and runs without a scope are compared with nothing, and nothing with them.
 */

import {
  CHANGE_WORDS,
  type ChangeCounts,
  changeCounts,
  type GoneUntold,
  type JudgedBy,
  type PlanGaps,
  type Sweep,
} from './changes.ts';
import type { Tx } from './database.ts';
import type { RunRecord } from './run-record.ts';

/** What there is to know of a run besides its rows. */
export interface SweepFacts {
  readonly judgedBy: JudgedBy;
  readonly gaps: PlanGaps;
  readonly now: Date;
}

interface ScopeRow {
  readonly id: number;
  readonly runId: string | null;
  readonly runCreatedAt: Date | null;
  readonly runNow: Date | null;
  readonly sweepNo: number;
  readonly swept: boolean;
  readonly knownGaps: readonly string[];
}

const STOP_REASONS = `('cancelled', 'deadline', 'error_budget', 'withdrawn', 'refused', 'expired')`;
const WORD_RANKS = CHANGE_WORDS.map((word, rank) => `when '${word}' then ${rank}`).join(' ');

/**
 * $1 scope, $2 acceptance and $3 id of the run, $4 its `now`, $5 whether what was not there before is new, $6 whether what
 * is not there any more is gone, $7 version and $8 mark of the rules, $9 tenant, $10 number of this sweep.
 */
const RECORD = `
  with ranked as (
    select coalesce(identity, key) collate "C" as identity, key, target, ordinal, verdict, reason_code, reason,
        case when standing = 'problem' then 0 when outcome = 'not_checked' and reason_code in ${STOP_REASONS} then 1
          when outcome <> 'verdict' then 2 else 3 end as rank
      from muster.subjects where run_created_at = $2 and run_id = $3
  ), seen as (
    select distinct on (identity) *, case rank when 0 then 'problem' when 3 then 'ok' end as standing
      from ranked order by identity, rank, ordinal
  ), diff as (
    select known.id, seen.identity is not null and seen.rank <> 1 as looked,
        coalesce(seen.identity, known.identity) as identity, coalesce(seen.key, known.subject_key) as subject_key,
        coalesce(seen.target, known.target) as target, seen.ordinal, known.standing as from_standing,
        known.verdict as from_verdict, seen.standing as to_standing, seen.verdict as to_verdict,
        seen.reason_code, seen.reason, seen.standing is null as unknown,
        seen.standing is not null and seen.standing is not distinct from known.standing as goes_on,
        coalesce(known.steady, false) as was_steady,
        known.rules_mark = $8::bigint and known.verdict = seen.verdict and known.subject_key = seen.key
          and known.target is not distinct from seen.target
          and (seen.standing = 'ok' or known.reason is not distinct from seen.reason) as is_same,
        case
          when seen.identity is null then case when $6 then 'gone' end
          when seen.rank = 1 then null
          when known.id is null then case when $5 then 'new_subject' else 'baseline' end
          when seen.standing is null then
            case when known.unknown_since is null then 'became_unknown' else 'still_unknown' end
          when known.standing <> seen.standing and known.rules_mark <> $8::bigint then 'rule_changed'
          when known.unknown_since is not null then 'known_again'
          when known.standing = seen.standing then
            case seen.standing when 'problem' then 'still_problem' else 'still_ok' end
          else case seen.standing when 'problem' then 'newly_problem' else 'fixed' end
        end as change,
        known.standing_since as known_since, known.last_ok_at as known_ok_at, known.last_run_id as known_run,
        coalesce(known.sweeps_in_standing, 0) as known_sweeps
      from seen full join (select * from muster.standings where scope_id = $1) known
        on known.identity = seen.identity
  ), became as materialized (
    select *, was_steady and goes_on and is_same as is_steady,
        case when unknown or goes_on then known_since else $4::timestamptz end as standing_since,
        case when to_standing = 'ok' then $4::timestamptz else known_ok_at end as last_ok_at,
        case when unknown then known_sweeps when goes_on then known_sweeps + 1 else 1 end as sweeps
      from diff where change is not null or was_steady
  ), kept as (
    update muster.scope_standings known
      set subject_key = became.subject_key, target = became.target, last_run_id = $3,
        standing = case when unknown then known.standing else to_standing end,
        verdict = case when unknown then known.verdict else to_verdict end,
        reason = case when unknown then known.reason when to_standing = 'problem' then became.reason end,
        standing_since = became.standing_since, last_ok_at = became.last_ok_at, sweeps_in_standing = sweeps,
        unknown_since = case when unknown then coalesce(known.unknown_since, $4::timestamptz) end,
        unknown_reason_code = case when unknown then became.reason_code end,
        unknown_reason = case when unknown then became.reason end,
        rules_version = case when unknown then known.rules_version else $7::text end,
        rules_mark = case when unknown then known.rules_mark else $8::bigint end,
        as_of = $10, steady = not unknown
      from became where known.scope_id = $1 and known.id = became.id and became.looked and not is_steady
  ), passed_over as (
    update muster.scope_standings known
      set last_run_id = became.known_run, last_ok_at = became.known_ok_at, sweeps_in_standing = became.known_sweeps,
        as_of = $10, steady = false
      from became where known.scope_id = $1 and known.id = became.id and change is null
  ), added as (
    insert into muster.scope_standings (scope_id, identity, subject_key, target, standing, verdict, reason,
        standing_since, last_ok_at, sweeps_in_standing, unknown_since, unknown_reason_code, unknown_reason, last_run_id,
        rules_version, rules_mark, as_of, steady)
      select $1, identity, subject_key, target, to_standing, case when not unknown then to_verdict end,
          case when to_standing = 'problem' then reason end, standing_since, last_ok_at, sweeps,
          case when unknown then $4::timestamptz end, case when unknown then reason_code end,
          case when unknown then reason end, $3, case when not unknown then $7::text end,
          case when not unknown then $8::bigint end, $10, not unknown
        from became where id is null order by ordinal
  ), dropped as (
    delete from muster.scope_standings known using became
      where known.scope_id = $1 and known.id = became.id and became.change = 'gone'
  ), told as (
    insert into muster.changes (tenant, run_id, ordinal, identity, subject_key, target, change, from_standing,
        to_standing, from_verdict, to_verdict, reason_code, reason, standing_since, last_ok_at, sweeps_in_standing)
      select $9, $3, row_number() over (order by case change ${WORD_RANKS} end, ordinal, identity) - 1, identity,
          subject_key, target, change, from_standing, to_standing, from_verdict, to_verdict, reason_code, reason,
          standing_since, last_ok_at, sweeps
        from became where change not in ('baseline', 'still_ok', 'still_unknown')
  ) select change, count(*)::int as count from became where change is not null group by change`;

/**
 * Compares a finished run with the standings of its scope and brings those up to it. Undefined for a run that has no part
 * in it: a dry run, a rerun, a run without scope or without a closed plan, or a bounded one.
 *
 * @param run as it is locked by this transaction
 */
export async function recordChanges(tx: Tx, run: RunRecord, facts: SweepFacts): Promise<Sweep | undefined> {
  const { scopeKey, runbookName } = run;
  if (run.form !== 'fleet' || run.dryRun || run.rerunOf !== null || scopeKey === null || run.frozenAt === null) {
    return undefined;
  }
  const scope = await lockScope(tx, run, scopeKey);
  const base = { runId: run.id, runbookName, scopeKey, goneUntold: null, counts: changeCounts() };
  const before = scope.runId === null ? null : { runId: scope.runId, now: scope.runNow as Date };
  if (before !== null && isAfter(scope, run)) {
    return await keepSweep(tx, run, { ...base, outcome: 'late', against: before }, facts.now);
  }
  if (run.stopReason !== null && !(await looksAtAny(tx, run))) {
    return await keepSweep(tx, run, { ...base, outcome: 'unlooked', against: null }, facts.now);
  }
  const goneUntold = whyGoneIsUntold(run, facts.gaps, scope);
  const counts = await record(tx, run, scope, { ...facts, tellsGone: goneUntold === null });
  await moveScope(tx, run, scope, goneUntold === null || before === null ? facts.gaps.never : scope.knownGaps);
  const outcome = before === null ? 'first' : 'compared';
  return await keepSweep(tx, run, { ...base, outcome, against: before, goneUntold, counts }, facts.now);
}

async function lockScope(tx: Tx, run: RunRecord, scopeKey: string): Promise<ScopeRow> {
  const names = [run.tenant, run.runbookName, scopeKey];
  await tx.query(
    `insert into muster.sweep_scopes (tenant, runbook_name, scope_key) values ($1, $2, $3)
      on conflict (tenant, runbook_name, scope_key) do nothing`,
    names,
  );
  const { rows } = await tx.query<ScopeRow>(
    `select id, run_id as "runId", run_created_at as "runCreatedAt", run_now as "runNow", swept,
        sweep_no as "sweepNo", known_gaps as "knownGaps"
      from muster.sweep_scopes where tenant = $1 and runbook_name = $2 and scope_key = $3 for update`,
    names,
  );
  return rows[0]!;
}

/** Whether the run that is recorded was accepted after this one. */
function isAfter(scope: ScopeRow, run: RunRecord): boolean {
  const recorded = scope.runCreatedAt!.getTime();
  const created = run.createdAt.getTime();
  return recorded > created || (recorded === created && scope.runId! > run.id);
}

async function looksAtAny(tx: Tx, run: RunRecord): Promise<boolean> {
  const { rowCount } = await tx.query(
    `select from muster.subjects where run_created_at = $1 and run_id = $2
      and (outcome <> 'not_checked' or reason_code not in ${STOP_REASONS}) limit 1`,
    [run.createdAt, run.id],
  );
  return rowCount > 0;
}

/** A plan is whole when it says of nothing that it was not checked, and of nothing new that it cannot be covered. */
function whyGoneIsUntold(run: RunRecord, gaps: PlanGaps, scope: ScopeRow): GoneUntold | null {
  if (run.stopReason !== null) return 'stopped';
  if (gaps.left) return 'plan_not_whole';
  const isNews = scope.runId !== null && gaps.never.some((gap) => !scope.knownGaps.includes(gap));
  return isNews ? 'plan_not_whole' : null;
}

async function record(
  tx: Tx,
  run: RunRecord,
  scope: ScopeRow,
  facts: SweepFacts & { tellsGone: boolean },
): Promise<ChangeCounts> {
  const { judgedBy } = facts;
  const { rows: marks } = await tx.query<{ mark: string }>('select hashtextextended($1, 0)::text as mark', [
    JSON.stringify([judgedBy.name, judgedBy.version, judgedBy.digest]),
  ]);
  const { rows } = await tx.query<{ change: keyof ChangeCounts; count: number }>(RECORD, [
    scope.id,
    run.createdAt,
    run.id,
    run.now,
    scope.swept,
    facts.tellsGone,
    judgedBy.version,
    marks[0]!.mark,
    run.tenant,
    scope.sweepNo + 1,
  ]);
  return changeCounts(Object.fromEntries(rows.map(({ change, count }) => [change, count])));
}

async function moveScope(tx: Tx, run: RunRecord, scope: ScopeRow, knownGaps: readonly string[]): Promise<void> {
  await tx.query(
    `update muster.sweep_scopes set run_id = $2, run_created_at = $3, run_now = $4, sweep_no = $7,
        swept = swept or $5, known_gaps = $6
      where id = $1`,
    [scope.id, run.id, run.createdAt, run.now, run.stopReason === null, knownGaps, scope.sweepNo + 1],
  );
}

async function keepSweep(tx: Tx, run: RunRecord, sweep: Sweep, now: Date): Promise<Sweep> {
  const { against, counts, goneUntold, outcome } = sweep;
  const told = Object.entries(counts);
  await tx.query(
    `insert into muster.sweeps (run_id, tenant, runbook_name, scope_key, outcome, against_run_id, against_now, tells_gone,
        gone_untold, recorded_at, ${told.map(([word]) => word).join(', ')})
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, ${told.map((_, index) => `$${index + 11}`).join(', ')})`,
    [
      run.id,
      run.tenant,
      sweep.runbookName,
      sweep.scopeKey,
      outcome,
      against?.runId ?? null,
      against?.now ?? null,
      (outcome === 'first' || outcome === 'compared') && goneUntold === null,
      goneUntold,
      now,
      ...told.map(([, count]) => count),
    ],
  );
  return sweep;
}
