-- What steers a sweep: deadline, error budget, canary, quotas, dry run, rerun; and the ways by which old runs go.
--
-- It only adds. Builds of the first step go on working on it: they send all waves at once, and refuse to assess a dry
-- run because the check below refuses them.

alter table muster.runs
  add column deadline_at timestamptz,
  add column error_budget_count integer check (error_budget_count >= 0),
  add column error_budget_percent double precision check (error_budget_percent between 0 and 100),
  add column canary_percent double precision check (canary_percent > 0 and canary_percent <= 100),
  add column scope_key text check (length(scope_key) between 1 and 512),
  add column dry_run boolean not null default false,
  add column rerun_of uuid,
  add column rerun_selection json,
  add constraint runs_tenant_id_key unique (tenant, id),
  add constraint runs_rerun_source foreign key (tenant, rerun_of) references muster.runs (tenant, id),
  add constraint runs_one_error_budget check (error_budget_count is null or error_budget_percent is null),
  add constraint runs_dry_run_assesses_nothing check (not dry_run or (form = 'fleet' and phase <> 'assess')),
  add constraint runs_rerun_is_whole check ((rerun_of is null) = (rerun_selection is null));

-- Final rows are closed to everybody else. Whether their input was an upload is not known any more, so all of them get
-- a scope: one that nobody shares costs a row that stays.
alter table muster.runs disable trigger guard_run;
update muster.runs set scope_key = input_digest;
alter table muster.runs enable trigger guard_run;

create index runs_overdue on muster.runs (deadline_at, id)
  where deadline_at is not null and stop_reason is null and phase in ('procedure', 'plan', 'assess');
create index runs_open on muster.runs (tenant) where phase <> 'done';
create index runs_finished on muster.runs (finished_at, id) where phase = 'done';
create index runs_sweeps on muster.runs (tenant, runbook_name, scope_key, finished_at, id)
  where status = 'completed' and answer_kind = 'envelope' and form = 'fleet' and not dry_run and rerun_of is null
    and scope_key is not null;
create index runs_children on muster.runs (parent_run_id) where parent_run_id is not null;
create index runs_reruns on muster.runs (rerun_of) where rerun_of is not null;
create index runs_by_input on muster.runs (tenant, input_digest);
create index runs_by_definition on muster.runs (definition_digest);

create function muster.guard_run_controls() returns trigger language plpgsql as $$
begin
  if new.scope_key is distinct from old.scope_key or new.dry_run <> old.dry_run
    or new.rerun_of is distinct from old.rerun_of
    or new.rerun_selection::text is distinct from old.rerun_selection::text then
    raise exception using errcode = 'MU003', message = 'what a run is never changes';
  end if;
  return new;
end
$$;

create trigger guard_run_controls before update of scope_key, dry_run, rerun_of, rerun_selection on muster.runs
  for each row execute function muster.guard_run_controls();

create function muster.guard_forgotten_run() returns trigger language plpgsql as $$
begin
  if old.phase <> 'done' then
    raise exception using errcode = 'MU010', message = 'only a final run is forgotten';
  end if;
  return old;
end
$$;

create trigger guard_forgotten_run before delete on muster.runs
  for each row execute function muster.guard_forgotten_run();

create function muster.refuse_lone_delete() returns trigger language plpgsql as $$
begin
  if exists (select from muster.runs where runs.id = old.run_id) then
    raise exception using errcode = 'MU011', message = format('rows of %s go only with their run', tg_table_name);
  end if;
  return old;
end
$$;

create trigger refuse_lone_delete before delete on muster.answers
  for each row execute function muster.refuse_lone_delete();
create trigger refuse_lone_delete before delete on muster.run_events
  for each row execute function muster.refuse_lone_delete();

-- Runs that are gone and whose subject rows are not yet: those are too many for one transaction.
create table muster.forgotten_runs (
  run_id uuid primary key,
  run_created_at timestamptz not null
);

alter table muster.chunks
  add column wave smallint not null default 0 check (wave >= 0),
  add column failed_count integer not null default 0,
  add constraint chunks_failed_were_not_checked check (failed_count between 0 and not_checked_count);

-- The wave stands in both: what goes next is found without looking at what has to wait.
create index chunks_open_by_wave on muster.chunks (run_id, wave) where state = 'open';
drop index muster.chunks_open;
create index chunks_due_by_wave on muster.chunks (run_id, wave, first_ordinal)
  where state = 'open' and dispatched_at is null;
drop index muster.chunks_due;
-- Sums over a run's settled chunks come from here alone: the error budget, progress.
create index chunks_settled on muster.chunks (run_id) include (size, failed_count) where state = 'settled';

-- A null is no limit.
create table muster.tenant_quotas (
  tenant text primary key check (length(tenant) between 1 and 128),
  max_open_runs integer check (max_open_runs >= 0),
  max_subjects_per_run integer check (max_subjects_per_run >= 0),
  max_in_flight_chunks integer check (max_in_flight_chunks >= 0),
  updated_at timestamptz not null
);
