-- What changed between the sweeps of a scope: where each identity is known to stand, and the edges of one run.
--
-- Read these; `recordChanges` alone writes them, in the transaction that finishes the run, under the lock of its scope.
--
-- muster.standings (a view): the last KNOWN standing of an identity in a tenant, runbook and scope. An identity is the
-- runbook's, else the subject's key. `standing` ('ok', 'problem') is null while it was never known, and so are `verdict`,
-- `standing_since`, `rules_version`. What was seen last without a verdict has `unknown_since`, `unknown_reason_code` and
-- `unknown_reason`, and keeps the standing that it had. What a whole sweep did not find any more is no longer here.
-- Columns: tenant, runbook_name, scope_key, scope_id, id, identity, subject_key, target, standing, verdict, reason (of a
-- problem), standing_since, last_ok_at, sweeps_in_standing, unknown_since, unknown_reason_code, unknown_reason,
-- last_run_id (that looked at it), rules_version.
--
-- muster.changes: the edges of one run, by `ordinal`, the ones to look at first. `change` is one of newly_problem, fixed,
-- still_problem, new_subject, gone, became_unknown, known_again, rule_changed. `from_standing` is the last known one;
-- `to_standing` is null where it is unknown now, or gone. `reason_code` is there where it is unknown now.
-- `standing_since`, `last_ok_at` and `sweeps_in_standing` are of the known standing after the run (before it: gone).
--
-- muster.sweeps: one row for each run that was looked at for changes, whatever came of it.
--
-- It only adds. Builds that do not know it record no changes; the next sweep is compared with the last that was recorded.

-- One row a scope. Its lock is what makes two sweeps of one scope follow each other.
create table muster.sweep_scopes (
  id bigint generated always as identity primary key,
  tenant text not null,
  runbook_name text not null,
  scope_key text not null,
  -- The run whose standings these are; null until there is one.
  run_id uuid,
  run_created_at timestamptz,
  run_now timestamptz,
  -- How many runs were recorded.
  sweep_no integer not null default 0 check (sweep_no >= 0),
  -- Every planned subject was looked at once: only since then is what was not there before new.
  swept boolean not null default false,
  -- What the last whole plan, else the first, said that it can never cover: a plan that says more is not whole.
  known_gaps text[] not null default '{}',
  unique (tenant, runbook_name, scope_key),
  constraint sweep_scopes_run_is_whole
    check ((run_id is null) = (run_created_at is null) and (run_id is null) = (run_now is null))
);

-- What goes on as it was is not written again: a steady row was seen, and stood so, in every sweep since `as_of`. Its
-- count, its last run and, where it is ok, its last instant follow from its scope; the view says them. No foreign keys:
-- a hundred thousand rows are written in one statement, and retention takes no scope.
create table muster.scope_standings (
  scope_id bigint not null,
  id bigint generated always as identity,
  identity text collate "C" not null,
  subject_key text not null,
  target text,
  standing text check (standing in ('ok', 'problem')),
  verdict text,
  reason text,
  standing_since timestamptz,
  last_ok_at timestamptz,
  sweeps_in_standing integer not null check (sweeps_in_standing >= 0),
  unknown_since timestamptz,
  unknown_reason_code text,
  unknown_reason text,
  last_run_id uuid not null,
  rules_version text,
  -- Stands for name, version and content of the rules that gave the standing.
  rules_mark bigint,
  -- The sweep of its scope that wrote it.
  as_of integer not null check (as_of >= 1),
  steady boolean not null,
  primary key (scope_id, id),
  constraint scope_standings_known_is_whole check (
    (standing is null) = (verdict is null) and (standing is null) = (standing_since is null)
      and (standing is null) = (rules_mark is null) and (standing is null) = (sweeps_in_standing = 0)
  ),
  constraint scope_standings_says_something check (standing is not null or unknown_since is not null),
  constraint scope_standings_steady_is_known check (not steady or unknown_since is null)
);

-- Identities may be longer than an index entry. That there is one row each is by the lock of the scope.
create index scope_standings_by_identity on muster.scope_standings (scope_id, hashtextextended(identity, 0));
create index scope_standings_problems on muster.scope_standings (scope_id, id) where standing = 'problem';
create index scope_standings_unknown on muster.scope_standings (scope_id, id) where unknown_since is not null;

create view muster.standings as
  select scopes.tenant, scopes.runbook_name, scopes.scope_key, known.scope_id, known.id, known.identity,
      known.subject_key, known.target, known.standing, known.verdict, known.reason, known.standing_since,
      case when known.steady and known.standing = 'ok' then scopes.run_now else known.last_ok_at end as last_ok_at,
      known.sweeps_in_standing + case when known.steady then scopes.sweep_no - known.as_of else 0 end
        as sweeps_in_standing,
      known.unknown_since, known.unknown_reason_code, known.unknown_reason,
      case when known.steady then scopes.run_id else known.last_run_id end as last_run_id, known.rules_version,
      known.rules_mark, known.steady
    from muster.sweep_scopes scopes join muster.scope_standings known on known.scope_id = scopes.id;

-- No foreign key to runs, as subjects have none: they go after their run, in batches.
create table muster.changes (
  tenant text not null,
  run_id uuid not null,
  ordinal integer not null check (ordinal >= 0),
  identity text collate "C" not null,
  subject_key text not null,
  target text,
  change text not null check (change in (
    'newly_problem', 'fixed', 'still_problem', 'new_subject', 'gone', 'became_unknown', 'known_again', 'rule_changed'
  )),
  from_standing text check (from_standing in ('ok', 'problem')),
  to_standing text check (to_standing in ('ok', 'problem')),
  from_verdict text,
  to_verdict text,
  reason_code text,
  reason text,
  standing_since timestamptz,
  last_ok_at timestamptz,
  sweeps_in_standing integer not null check (sweeps_in_standing >= 0),
  primary key (run_id, ordinal)
);

create index changes_by_identity on muster.changes (run_id, hashtextextended(identity, 0));

create trigger refuse_update before update on muster.changes
  for each row execute function muster.refuse_update();

create table muster.sweeps (
  run_id uuid primary key,
  tenant text not null,
  runbook_name text not null,
  scope_key text not null,
  -- first: nothing to compare with. late: a run that was accepted later is recorded already. unlooked: it was stopped
  -- before it looked at any subject. Only first and compared say anything about the standings.
  outcome text not null check (outcome in ('first', 'compared', 'late', 'unlooked')),
  against_run_id uuid,
  against_now timestamptz,
  -- Whether what it did not find is gone; else why that cannot be told.
  tells_gone boolean not null,
  gone_untold text check (gone_untold in ('stopped', 'plan_not_whole')),
  baseline integer not null default 0,
  newly_problem integer not null default 0,
  fixed integer not null default 0,
  still_problem integer not null default 0,
  still_ok integer not null default 0,
  new_subject integer not null default 0,
  gone integer not null default 0,
  became_unknown integer not null default 0,
  still_unknown integer not null default 0,
  known_again integer not null default 0,
  rule_changed integer not null default 0,
  recorded_at timestamptz not null,
  foreign key (tenant, run_id) references muster.runs (tenant, id) on delete cascade,
  constraint sweeps_against_is_whole check ((against_run_id is null) = (against_now is null)),
  constraint sweeps_compared_with_a_run check ((outcome in ('compared', 'late')) = (against_run_id is not null)),
  constraint sweeps_gone_or_why check (tells_gone = (outcome in ('first', 'compared') and gone_untold is null))
);

create trigger refuse_update before update on muster.sweeps
  for each row execute function muster.refuse_update();
create trigger refuse_lone_delete before delete on muster.sweeps
  for each row execute function muster.refuse_lone_delete();
