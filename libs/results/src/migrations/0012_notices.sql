-- Notices: what is told to whom outside, as an outbox. The database itself files them in the transaction that ends a run,
-- so that no end of a run, however it comes, goes without.
--
-- It only adds. Builds that do not know it file notices all the same, and send none.

-- Where notices go.
create table muster.notifiers (
  id uuid primary key,
  tenant text not null check (length(tenant) between 1 and 128),
  name text not null check (length(name) between 1 and 128),
  url text not null check (length(url) between 1 and 2048),
  -- Sealed by the caller, under the row's id.
  secret bytea not null,
  -- muster, slack: what changed. envelope: the answer of each run.
  format text not null check (format in ('muster', 'slack', 'envelope')),
  -- Null: of every one.
  runbooks text[],
  scopes text[],
  targets text[],
  -- The words of changes that are told.
  changes text[] not null,
  enabled boolean not null default true,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  unique (tenant, name)
);

-- Where one run's answer goes, as whoever started it asked.
create table muster.run_callbacks (
  run_id uuid primary key references muster.runs (id) on delete cascade,
  url text not null check (length(url) between 1 and 2048),
  -- Sealed by the caller, under the run's id; null: sent unsigned.
  secret bytea
);

-- What is not told for a while: a mute of some subjects, or a window of maintenance. Both stay counted. Patterns are as in
-- LIKE, with a backslash before what is meant as it stands; null: of every one.
create table muster.mutes (
  id uuid primary key,
  tenant text not null check (length(tenant) between 1 and 128),
  runbook text,
  scope text,
  subject_pattern text,
  target_pattern text,
  reason text not null check (octet_length(reason) between 1 and 512),
  key_id uuid,
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  created_at timestamptz not null,
  -- Ended by hand before its time.
  lifted_at timestamptz,
  check (ends_at > starts_at)
);

create index mutes_of_tenant on muster.mutes (tenant, ends_at);

create table muster.notices (
  -- The delivery's id: the same for every attempt.
  id uuid primary key default gen_random_uuid(),
  place bigint generated always as identity unique,
  tenant text not null,
  kind text not null check (kind in ('changes', 'answer', 'callback', 'announcement', 'test')),
  -- Null: a callback.
  notifier_id uuid references muster.notifiers (id) on delete cascade,
  run_id uuid,
  -- Written once, before the first attempt: every attempt sends the same bytes.
  body text,
  state text not null default 'pending' check (state in ('pending', 'sent', 'dead', 'dropped')),
  attempts integer not null default 0 check (attempts >= 0),
  next_at timestamptz not null default now(),
  -- Of the last attempt: the HTTP status, or a word.
  last_status integer,
  last_error text check (octet_length(last_error) <= 128),
  replay_of uuid,
  created_at timestamptz not null default now(),
  settled_at timestamptz,
  constraint notices_have_an_address check (notifier_id is not null or kind = 'callback'),
  constraint notices_of_runs check (run_id is not null or kind in ('announcement', 'test')),
  constraint notices_settled_has_end check ((state = 'pending') = (settled_at is null))
);

create index notices_due on muster.notices (next_at, place) where state = 'pending';
create index notices_of_tenant on muster.notices (tenant, place desc);
create index notices_settled on muster.notices (settled_at) where state <> 'pending';
create unique index notices_once on muster.notices (run_id, kind, coalesce(notifier_id, run_id))
  where run_id is not null and replay_of is null;

-- Files what the end of a run gives to tell.
create function muster.file_notices() returns trigger language plpgsql as $$
begin
  insert into muster.notices (tenant, kind, run_id)
    select new.tenant, 'callback', new.id from muster.run_callbacks where run_id = new.id;
  insert into muster.notices (tenant, kind, notifier_id, run_id)
    select new.tenant, 'answer', id, new.id from muster.notifiers
      where tenant = new.tenant and enabled and format = 'envelope'
        and (runbooks is null or new.runbook_name = any(runbooks))
        and (scopes is null or new.scope_key = any(scopes));
  insert into muster.notices (tenant, kind, notifier_id, run_id)
    select new.tenant, 'changes', notifiers.id, new.id
      from muster.sweeps cross join muster.notifiers
      where sweeps.run_id = new.id and sweeps.outcome = 'compared'
        and notifiers.tenant = new.tenant and enabled and format <> 'envelope'
        and (runbooks is null or new.runbook_name = any(runbooks))
        and (scopes is null or new.scope_key = any(scopes))
        and (
          exists (select from unnest(changes) word where (to_jsonb(sweeps) ->> word)::integer > 0)
          -- What became a problem while nobody was told is told when the mute is over.
          or sweeps.still_problem > 0 and exists (
            select from muster.mutes where mutes.tenant = new.tenant
              and least(mutes.ends_at, mutes.lifted_at) > sweeps.against_now
              and least(mutes.ends_at, mutes.lifted_at) <= new.now
          )
        );
  return null;
end
$$;

create trigger file_notices after update of phase on muster.runs
  for each row when (new.phase = 'done' and old.phase <> 'done') execute function muster.file_notices();
