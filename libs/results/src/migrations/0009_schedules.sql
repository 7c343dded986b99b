-- Schedules, and the ledger of their ticks: what became of each slot that was due. Sessions that belong to no key, for the
-- runs that nobody types.
--
-- It only adds. Builds that do not know it run nothing by itself, and read the runs of schedules as any others.

create table muster.schedules (
  id uuid primary key,
  tenant text not null check (length(tenant) between 1 and 128),
  name text not null check (name ~ '^[a-z0-9][a-z0-9._-]{0,63}$'),
  session_id uuid not null,
  runbook_name text not null,
  -- Null: whatever version is offered when a slot is due.
  runbook_version text,
  -- Kept here, and not among the inputs of runs, which go with the last run that names them.
  input json not null,
  input_digest text not null,
  priority smallint not null check (priority between 0 and 2),
  -- Opaque here: a pattern in a zone, or an interval.
  timing json not null,
  overlap text not null check (overlap in ('skip', 'queue_one', 'cancel_previous', 'allow')),
  jitter_ms integer not null check (jitter_ms >= 0),
  catch_up_ms integer not null check (catch_up_ms >= 0),
  pause_after_failures integer check (pause_after_failures >= 1),
  state text not null check (state in ('active', 'paused')),
  paused_code text,
  paused_reason text check (octet_length(paused_reason) between 1 and 512),
  -- Null: Muster itself.
  paused_by uuid,
  paused_at timestamptz,
  -- Runs that failed, one after the other.
  failures integer not null default 0 check (failures >= 0),
  -- The oldest slot that has no row in the ledger yet, and when it is due. Null: no slot is to come, or it is paused.
  next_slot timestamptz,
  next_due_at timestamptz,
  source text not null check (source in ('api', 'file')),
  -- The key that gave it its present form; null: the file.
  owner_key_id uuid,
  revision integer not null check (revision >= 1),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  unique (tenant, name),
  unique (tenant, id),
  foreign key (tenant, session_id) references muster.sessions (tenant, id),
  constraint schedules_paused_is_whole check (
    (state = 'paused') = (paused_code is not null) and (state = 'paused') = (paused_reason is not null)
      and (state = 'paused') = (paused_at is not null)
  ),
  constraint schedules_paused_is_not_due check (state = 'active' or next_slot is null),
  constraint schedules_next_is_whole check ((next_slot is null) = (next_due_at is null))
);

create index schedules_due on muster.schedules (next_due_at) where state = 'active';

create table muster.ticks (
  id bigint generated always as identity primary key,
  tenant text not null,
  schedule_id uuid not null,
  slot timestamptz not null,
  trigger text not null check (trigger in ('schedule', 'manual')),
  -- The key that asked for it by hand.
  asked_by uuid,
  state text not null check (state in ('queued', 'started', 'skipped', 'missed', 'refused')),
  -- There is no foreign key: retention takes runs, and leaves this.
  run_id uuid,
  -- How that run ended, once somebody has seen it: `forgotten` when retention was faster.
  run_status text check (run_status in ('completed', 'cancelled', 'failed', 'forgotten')),
  reason_code text check (length(reason_code) between 1 and 64),
  reason text check (octet_length(reason) between 1 and 512),
  -- How many slots it stands for, from its own on: more than one after a long time without any worker.
  slots integer not null default 1 check (slots >= 1),
  due_at timestamptz not null,
  decided_at timestamptz not null,
  unique (schedule_id, slot),
  foreign key (tenant, schedule_id) references muster.schedules (tenant, id) on delete cascade,
  constraint ticks_started_has_run check ((state = 'started') = (run_id is not null)),
  constraint ticks_ended_was_started check (run_status is null or state = 'started'),
  constraint ticks_say_why check ((state = 'started') = (reason_code is null) and (state = 'started') = (reason is null)),
  constraint ticks_many_are_missed check (slots = 1 or state = 'missed'),
  constraint ticks_asked_by_hand check (asked_by is null or trigger = 'manual')
);

create unique index ticks_one_waits on muster.ticks (schedule_id) where state = 'queued';
create unique index ticks_of_run on muster.ticks (run_id) where run_id is not null;
create index ticks_running on muster.ticks (schedule_id, run_id) where state = 'started' and run_status is null;
create index ticks_newest on muster.ticks (schedule_id, id desc);
create index ticks_old on muster.ticks (decided_at);

-- What became of a slot never changes: one that waits comes to its end, and the end of a run is noted once.
create function muster.guard_tick() returns trigger language plpgsql as $$
begin
  if old.state <> 'queued' and (new.state, new.run_id, new.reason_code, new.reason, new.decided_at)
    is distinct from (old.state, old.run_id, old.reason_code, old.reason, old.decided_at)
    or (old.run_status is not null and new.run_status is distinct from old.run_status) then
    raise exception using errcode = 'MU018', message = 'what became of a slot never changes';
  end if;
  if (new.id, new.tenant, new.schedule_id, new.slot, new.trigger, new.asked_by, new.slots, new.due_at)
    is distinct from
    (old.id, old.tenant, old.schedule_id, old.slot, old.trigger, old.asked_by, old.slots, old.due_at) then
    raise exception using errcode = 'MU019', message = 'what a tick is never changes';
  end if;
  return new;
end
$$;

create trigger guard_tick before update on muster.ticks
  for each row execute function muster.guard_tick();

-- Sessions without an owner are Muster's own; no key finds them by a name of its own.
alter table muster.sessions alter column owner_key_id drop not null;
create unique index sessions_of_muster on muster.sessions (tenant, name) where owner_key_id is null;
