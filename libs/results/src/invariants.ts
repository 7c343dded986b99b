/**
 * What must hold once everything accepted has come to rest, read from the rows alone. For tests that break things: it
 * looks at every run and every subject, so never call it on a store that serves anybody.
 *
 * One statement an invariant; each returns tenant, run and a sentence for everything that breaks it.
 */

import { CHANGE_WORDS } from './changes.ts';
import type { Queryable } from './database.ts';
import { PLACE } from './plan-chunks.ts';

export type InvariantName =
  | 'every_run_is_answered'
  | 'every_subject_ends_once'
  | 'counts_add_up'
  | 'changes_are_told_once'
  | 'nothing_came_of_stale_fences'
  | 'nothing_is_left_over';

export interface InvariantViolation {
  readonly invariant: InvariantName;
  readonly tenant: string;
  readonly runId: string | null;
  /** A sentence for people: ids and counts, nothing that was stored. */
  readonly what: string;
}

/** A run whose subjects must all have a row: its denominator is closed and it is no dry run. */
const HAS_ROWS = `runs.phase = 'done' and runs.frozen_at is not null and not runs.dry_run`;

/**
 * Each planned subject's row, by its chunk: joined once, because a look for every chunk by itself takes minutes where chunks
 * are many and small.
 */
const ROWS_BY_CHUNK = `(
  select placed.chunk_id as of_chunk, subjects.*
    from (
      select chunks.id as chunk_id, chunks.run_id, ${PLACE} as place
        from muster.chunks cross join lateral json_array_elements(chunks.keys) with ordinality as names (name, nth)
    ) placed
    join muster.runs on runs.id = placed.run_id
    join muster.subjects on subjects.run_created_at = runs.created_at and subjects.run_id = runs.id
      and subjects.ordinal = placed.place
) rows`;

const STATEMENTS: Readonly<Record<InvariantName, string>> = {
  every_run_is_answered: `
    select runs.tenant, runs.id as "runId", case
        when runs.phase <> 'done' then format('is %s in phase %s', runs.status, runs.phase)
        else 'is final without an answer of its kind' end as what
      from muster.runs left join muster.answers on answers.run_id = runs.id and answers.kind = runs.answer_kind
      where runs.phase <> 'done' or answers.run_id is null`,

  // Ordinals and keys are unique within one instant of acceptance; another instant would be a second outcome.
  every_subject_ends_once: `
    select runs.tenant, runs.id as "runId", format('%s subjects were planned, %s have a row, the last at place %s',
        coalesce(runs.subjects_total, 0), rows.count, coalesce(rows.last, -1)) as what
      from muster.runs cross join lateral (
        select count(*) as count, max(ordinal) as last from muster.subjects
          where subjects.run_created_at = runs.created_at and subjects.run_id = runs.id
      ) rows
      where rows.count <> coalesce(rows.last + 1, 0)
        or (runs.phase = 'done' and runs.form = 'fleet'
          and rows.count <> case when ${HAS_ROWS} then runs.subjects_total else 0 end)
    union all
    select subjects.tenant, subjects.run_id, format('%s rows belong to no run', count(*))
      from muster.subjects left join muster.runs
        on runs.id = subjects.run_id and runs.created_at = subjects.run_created_at and runs.tenant = subjects.tenant
      where runs.id is null
        and not exists (select from muster.forgotten_runs where forgotten_runs.run_id = subjects.run_id)
      group by subjects.tenant, subjects.run_id`,

  counts_add_up: `
    select runs.tenant, runs.id as "runId",
        format('%s subjects were planned, its chunks hold %s', runs.subjects_total, coalesce(sum(chunks.size), 0)) as what
      from muster.runs left join muster.chunks on chunks.run_id = runs.id
      where runs.frozen_at is not null and not runs.dry_run
      group by runs.id having coalesce(sum(chunks.size), 0) <> runs.subjects_total
    union all
    select chunks.tenant, chunks.run_id, format('chunk %s counts otherwise than its rows', chunks.id)
      from muster.chunks left join (
        select of_chunk, count(*) filter (where standing = 'ok') as ok,
            count(*) filter (where standing = 'problem') as problem,
            count(*) filter (where standing = 'declined') as declined,
            count(*) filter (where outcome = 'not_checked') as not_checked,
            count(*) filter (where outcome = 'cannot_cover') as cannot_cover
          from ${ROWS_BY_CHUNK} group by of_chunk
      ) counted on counted.of_chunk = chunks.id
      where chunks.state = 'settled' and (chunks.ok_count, chunks.problem_count, chunks.declined_count,
        chunks.not_checked_count, chunks.cannot_cover_count) is distinct from (counted.ok, counted.problem,
        counted.declined, counted.not_checked, counted.cannot_cover)`,

  changes_are_told_once: `
    select sweeps.tenant, sweeps.run_id as "runId",
        format('%s changes were counted, %s are told', ${CHANGE_WORDS.join(' + ')}, told.count) as what
      from muster.sweeps cross join lateral (
        select count(*) as count from muster.changes where changes.run_id = sweeps.run_id
      ) told
      where told.count <> ${CHANGE_WORDS.join(' + ')}
    union all
    select changes.tenant, changes.run_id, format('%s changes are of a run that recorded none', count(*))
      from muster.changes left join muster.sweeps on sweeps.run_id = changes.run_id
      where sweeps.run_id is null
        and not exists (select from muster.forgotten_runs where forgotten_runs.run_id = changes.run_id)
      group by changes.tenant, changes.run_id
    union all
    select scopes.tenant, null, format('an identity of scope %s has %s standings', scopes.id, count(*))
      from muster.sweep_scopes scopes join muster.scope_standings known on known.scope_id = scopes.id
      group by scopes.tenant, scopes.id, known.identity having count(*) > 1`,

  // A settled chunk, a final run and a question keep the fence of the attempt that made them so.
  nothing_came_of_stale_fences: `
    select artifacts.tenant, artifacts.run_id as "runId",
        format('artifact %s was committed by an attempt that did not settle its chunk', artifacts.ref) as what
      from muster.artifacts left join muster.chunks on chunks.id = artifacts.chunk_id
      where artifacts.state = 'committed' and artifacts.chunk_id is not null
        and (chunks.state is distinct from 'settled' or chunks.fence <> artifacts.fence)
    union all
    select artifacts.tenant, artifacts.run_id,
        format('artifact %s was committed by an attempt that neither froze, finished nor interrupted its run', artifacts.ref)
      from muster.artifacts join muster.runs on runs.id = artifacts.run_id
      where artifacts.state = 'committed' and artifacts.chunk_id is null and runs.phase = 'done'
        and artifacts.fence <> runs.fence and artifacts.fence is distinct from runs.plan_fence
        and not exists (select from muster.interruptions
          where interruptions.run_id = runs.id and interruptions.fence = artifacts.fence)
    union all
    select chunks.tenant, chunks.run_id, format('chunk %s is of a plan that was not frozen', chunks.id)
      from muster.chunks join muster.runs on runs.id = chunks.run_id
      where (runs.frozen_at is not null or runs.phase = 'done') and chunks.plan_fence is distinct from runs.plan_fence
    union all
    select chunks.tenant, chunks.run_id, format('chunk %s was settled without a claim', chunks.id)
      from muster.chunks where chunks.state = 'settled' and chunks.fence = 0
    union all
    select chunks.tenant, chunks.run_id, format('chunk %s has %s rows of another settlement', chunks.id, count(*))
      from muster.chunks join ${ROWS_BY_CHUNK} on rows.of_chunk = chunks.id
      where rows.chunk_id is distinct from chunks.id or rows.settled_at is distinct from chunks.settled_at
      group by chunks.id`,

  nothing_is_left_over: `
    select chunks.tenant, chunks.run_id as "runId", format('chunk %s is open', chunks.id) as what
      from muster.chunks where chunks.state = 'open'
    union all
    select artifacts.tenant, artifacts.run_id, format('artifact %s is staged', artifacts.ref)
      from muster.artifacts where artifacts.state = 'staged'
    union all
    select interruptions.tenant, interruptions.run_id, format('question %s is open', interruptions.number)
      from muster.interruptions where interruptions.state = 'open'
    union all
    select interruptions.tenant, interruptions.run_id, format('question %s keeps its checkpoint', interruptions.number)
      from muster.interruptions join muster.runs on runs.id = interruptions.run_id
      where interruptions.checkpoint is not null and runs.phase = 'done'`,
};

const VIOLATIONS_EACH = 100;

/** Everything that breaks an invariant, at most a hundred of each; empty when all hold. */
export async function invariants(db: Queryable): Promise<InvariantViolation[]> {
  const violations: InvariantViolation[] = [];
  for (const [invariant, statement] of Object.entries(STATEMENTS) as [InvariantName, string][]) {
    const { rows } = await db.query<Omit<InvariantViolation, 'invariant'>>(
      `select * from (${statement}) broken order by tenant, "runId", what limit ${VIOLATIONS_EACH}`,
    );
    violations.push(...rows.map((row) => ({ invariant, ...row })));
  }
  return violations;
}
