/**
 * What a notice tells, found in SQL: no sweep's rows are in memory, only the few that are shown.
 *
 * Invariants:
 * - what is muted is counted as muted and not shown;
 * - many that became unknown on one target for one reason are one outage, not many changes;
 * - what goes back and forth is told once, and then not until it is calm;
 * - what became a problem under a mute is told by the first sweep after it, as newly a problem.
 */

import type { ChangeCounts, ChangeWord } from './changes.ts';
import { COUNTED_WORDS, changeCounts } from './changes.ts';
import type { Queryable } from './database.ts';

/** One change as a notice shows it. */
export interface ToldChange {
  readonly change: ChangeWord;
  readonly subject: string;
  readonly target: string | null;
  readonly fromStanding: string | null;
  readonly toStanding: string | null;
  readonly verdict: string | null;
  readonly reason: string | null;
  readonly standingSince: Date | null;
}

/** Many subjects of one target that became unknown for one reason. */
export interface ToldOutage {
  readonly target: string | null;
  readonly reasonCode: string | null;
  readonly count: number;
  readonly samples: readonly string[];
}

/** What of a sweep is told to one notifier. */
export interface ToldSweep {
  readonly runId: string;
  readonly runbookName: string;
  readonly scopeKey: string;
  readonly now: Date;
  readonly against: { readonly runId: string; readonly now: Date };
  /** Of the whole sweep. */
  readonly counts: ChangeCounts;
  /** The ones to look at first, few. */
  readonly changes: readonly ToldChange[];
  /** How many there are to tell, those that are shown included. */
  readonly total: number;
  readonly outages: readonly ToldOutage[];
  /** Subjects that began to go back and forth. */
  readonly flapping: readonly string[];
  /** Changes that are not told because they are muted, and because their subject goes back and forth. */
  readonly muted: number;
  readonly damped: number;
}

/** What is asked of a sweep. */
export interface ToldQuery {
  readonly tenant: string;
  readonly runId: string;
  readonly changes: readonly string[];
  readonly targets: readonly string[] | null;
  /** How many changes are shown. */
  readonly limit: number;
}

/** So many on one target for one reason are an outage of what collects there. */
export const OUTAGE_SUBJECTS = 10;
/** So many changes between ok and problem within {@link FLAP_WINDOW_HOURS} are back and forth. */
export const FLAP_CHANGES = 4;
export const FLAP_WINDOW_HOURS = 24;
const MAX_OUTAGES = 20;
const MAX_FLAPPING = 20;

/**
 * The changes of a run that are to be told, each with what keeps it from it. $1 tenant, $2 run, $3 words, $4 targets.
 * `word` is the change as it is told: a problem that lasts and whose mute is over is a new one to those who are told.
 */
const TOLD = `sweep as (
    select sweeps.*, runs.now as run_now, runs.created_at as run_created_at from muster.sweeps join muster.runs on runs.id = sweeps.run_id
      where sweeps.run_id = $2 and sweeps.tenant = $1
  ), active as (
    select mutes.* from muster.mutes, sweep where mutes.tenant = $1 and starts_at <= sweep.run_now
      and least(ends_at, lifted_at) > sweep.run_now
      and (runbook is null or runbook = sweep.runbook_name) and (scope is null or scope = sweep.scope_key)
  ), over as (
    select mutes.* from muster.mutes, sweep where mutes.tenant = $1 and least(ends_at, lifted_at) > sweep.against_now
      and least(ends_at, lifted_at) <= sweep.run_now
      and (runbook is null or runbook = sweep.runbook_name) and (scope is null or scope = sweep.scope_key)
  ), edges as (
    select changes.*,
        case when change = 'still_problem' and exists (
          select from over where (subject_pattern is null or subject_key like subject_pattern or identity like subject_pattern)
            and (target_pattern is null or target like target_pattern) and standing_since >= starts_at
        ) then 'newly_problem' else change end as word
      from muster.changes where run_id = $2
  ), wanted as (
    select * from edges where word = any($3) and ($4::text[] is null or target = any($4))
  ), swings as (
    select identity, count(*) as swings, count(*) filter (where changes.run_id <> $2) as before
      from muster.changes
        join muster.sweeps on sweeps.run_id = changes.run_id, sweep
      where sweeps.tenant = $1 and sweeps.runbook_name = sweep.runbook_name and sweeps.scope_key = sweep.scope_key
        and sweeps.recorded_at > sweep.recorded_at - make_interval(hours => ${FLAP_WINDOW_HOURS})
        and sweeps.recorded_at <= sweep.recorded_at
        and change in ('newly_problem', 'fixed')
        and identity in (select identity from wanted where word in ('newly_problem', 'fixed'))
      group by identity having count(*) >= ${FLAP_CHANGES}
  ), told as (
    select wanted.*,
        exists (select from active
          where (subject_pattern is null or subject_key like subject_pattern or wanted.identity like subject_pattern)
            and (target_pattern is null or target like target_pattern)) as muted,
        case when word in ('newly_problem', 'fixed') then swings.before end as swung
      from wanted left join swings on swings.identity = wanted.identity
  ), clear as (
    select *, case when word = 'became_unknown'
        then count(*) over (partition by word, target, reason_code) >= ${OUTAGE_SUBJECTS} else false end as outage
      from told where not muted and swung is null
  )`;

/** Reads what a notifier is told of a run's changes; undefined when the run has no sweep that was compared. */
export async function readToldSweep(db: Queryable, query: ToldQuery): Promise<ToldSweep | undefined> {
  const parameters = [query.tenant, query.runId, query.changes, query.targets];
  return await db.transaction(async (tx) => {
    const head = await tx.query<SweepHead>(
      `with ${TOLD} select runbook_name as "runbookName", scope_key as "scopeKey", run_now as now,
          against_run_id as "againstRunId", against_now as "againstNow", ${COUNTED_WORDS.join(', ')},
          (select count(*)::int from told where muted) as muted,
          (select count(*)::int from told where not muted and swung >= ${FLAP_CHANGES}) as damped,
          (select count(*)::int from clear where not outage) as total,
          array(select subject_key from told where not muted and swung < ${FLAP_CHANGES} order by ordinal limit ${MAX_FLAPPING})
            as flapping
        from sweep where outcome = 'compared'`,
      parameters,
    );
    const sweep = head.rows[0];
    if (sweep === undefined) return undefined;
    const { rows: changes } = await tx.query<ToldChange>(
      `with ${TOLD} select word as change, subject_key as subject, target, from_standing as "fromStanding",
          to_standing as "toStanding", coalesce(to_verdict, from_verdict) as verdict, reason, standing_since as "standingSince"
        from clear where not outage
        order by (word <> 'newly_problem'), ordinal limit $5`,
      [...parameters, query.limit],
    );
    const { rows: outages } = await tx.query<ToldOutage>(
      `with ${TOLD} select target, reason_code as "reasonCode", count(*)::int as count,
          (array_agg(subject_key order by ordinal))[1:3] as samples
        from clear where outage group by target, reason_code order by count(*) desc, target limit ${MAX_OUTAGES}`,
      parameters,
    );
    const { runbookName, scopeKey, now, againstRunId, againstNow, muted, damped, total, flapping } = sweep;
    return {
      runId: query.runId,
      runbookName,
      scopeKey,
      now,
      against: { runId: againstRunId, now: againstNow },
      counts: changeCounts(sweep),
      changes,
      total,
      outages,
      flapping,
      muted,
      damped,
    };
  });
}

interface SweepHead extends ChangeCounts {
  readonly runbookName: string;
  readonly scopeKey: string;
  readonly now: Date;
  readonly againstRunId: string;
  readonly againstNow: Date;
  readonly muted: number;
  readonly damped: number;
  readonly total: number;
  readonly flapping: readonly string[];
}

/** What is wrong now, as an announcement tells it. */
export interface ToldStandings {
  readonly problems: readonly (ToldChange & { readonly runbook: string; readonly scope: string })[];
  readonly total: number;
  readonly unknown: number;
  readonly muted: number;
}

/** Reads everything that is known to be wrong now, but for what is muted. */
export async function readToldStandings(
  db: Queryable,
  query: {
    readonly tenant: string;
    readonly runbooks: readonly string[] | null;
    readonly scopes: readonly string[] | null;
    readonly targets: readonly string[] | null;
    readonly now: Date;
    readonly limit: number;
  },
): Promise<ToldStandings> {
  const told = `standing as (
      select *, exists (select from muster.mutes where mutes.tenant = $1 and starts_at <= $5 and least(ends_at, lifted_at) > $5
          and (runbook is null or runbook = runbook_name) and (scope is null or scope = scope_key)
          and (subject_pattern is null or subject_key like subject_pattern or identity like subject_pattern)
          and (target_pattern is null or target like target_pattern)) as muted
        from muster.standings where tenant = $1 and ($2::text[] is null or runbook_name = any($2))
          and ($3::text[] is null or scope_key = any($3)) and ($4::text[] is null or target = any($4))
          and (standing = 'problem' or unknown_since is not null)
    )`;
  const parameters = [query.tenant, query.runbooks, query.scopes, query.targets, query.now];
  const { rows: counts } = await db.query<{ total: number; unknown: number; muted: number }>(
    `with ${told} select count(*) filter (where not muted and standing = 'problem')::int as total,
        count(*) filter (where not muted and unknown_since is not null)::int as unknown,
        count(*) filter (where muted)::int as muted from standing`,
    parameters,
  );
  const { rows: problems } = await db.query<ToldStandings['problems'][number]>(
    `with ${told} select 'still_problem' as change, runbook_name as runbook, scope_key as scope, subject_key as subject, target,
        null as "fromStanding", standing as "toStanding", verdict, reason, standing_since as "standingSince"
      from standing where not muted and standing = 'problem' order by standing_since desc, scope_id, id limit $6`,
    [...parameters, query.limit],
  );
  return { problems, ...counts[0]! };
}
