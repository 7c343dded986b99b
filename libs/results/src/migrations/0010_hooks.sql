-- Deliveries of webhooks: kept before anything is made of them, worked on by whoever has their hook, and collapsed into
-- runs. Sessions that belong to no key, for the runs that nobody types.
--
-- It only adds. Builds that do not know it take no deliveries, work on none, and read runs of hooks as any others.

create table muster.deliveries (
  id uuid primary key,
  tenant text not null check (length(tenant) between 1 and 128),
  hook text not null check (length(hook) between 1 and 64),
  format text not null check (length(format) between 1 and 64),
  -- The sender's, or made of the body's digest where senders have none.
  delivery_id text not null check (length(delivery_id) between 1 and 512),
  body_digest text not null,
  -- Redacted: what proves the sender is never kept.
  headers json not null,
  -- Sealed by the caller, under the row's id.
  body bytea not null,
  body_bytes integer not null check (body_bytes >= 0),
  received_at timestamptz not null check (received_at = date_trunc('milliseconds', received_at)),
  -- The delivery of which this one is a replay. Retention may have taken it.
  replay_of uuid,
  state text not null check (state in ('received', 'done', 'refused', 'unreadable')),
  attempts integer not null default 0 check (attempts >= 0),
  -- By the clock of the database, as all that compares with it.
  next_at timestamptz not null default now(),
  result json,
  processed_at timestamptz,
  unique (tenant, hook, delivery_id),
  constraint deliveries_processed_has_end check ((state = 'received') = (processed_at is null)),
  constraint deliveries_processed_has_result check ((state = 'received') = (result is null))
);

create index deliveries_waiting on muster.deliveries (tenant, hook, next_at, id) where state = 'received';
create index deliveries_repeats on muster.deliveries (tenant, hook, body_digest, received_at desc);
create index deliveries_newest on muster.deliveries (tenant, received_at desc, id desc);
create index deliveries_newest_of_hook on muster.deliveries (tenant, hook, received_at desc, id desc);
create index deliveries_old on muster.deliveries (processed_at) where state <> 'received';

create function muster.guard_delivery() returns trigger language plpgsql as $$
begin
  if old.state <> 'received' then
    raise exception using errcode = 'MU016', message = 'a delivery is done once';
  end if;
  if (new.id, new.tenant, new.hook, new.format, new.delivery_id, new.body_digest, new.headers::text, new.body,
      new.body_bytes, new.received_at, new.replay_of)
    is distinct from
    (old.id, old.tenant, old.hook, old.format, old.delivery_id, old.body_digest, old.headers::text, old.body,
      old.body_bytes, old.received_at, old.replay_of) then
    raise exception using errcode = 'MU017', message = 'what came never changes';
  end if;
  return new;
end
$$;

create trigger guard_delivery before update on muster.deliveries
  for each row execute function muster.guard_delivery();

-- A run that later deliveries join, and how many did. The newest row of a key is the one that is joined.
create table muster.hook_collapses (
  run_id uuid primary key references muster.runs (id) on delete cascade,
  tenant text not null,
  hook text not null,
  key text not null check (length(key) between 1 and 1024),
  first_at timestamptz not null,
  last_at timestamptz not null check (last_at >= first_at),
  -- Alerts or events, the one that began the run among them.
  count integer not null check (count >= 1)
);

create index hook_collapses_newest on muster.hook_collapses (tenant, hook, key, first_at desc);

-- The delivery that began the run. There is no foreign key: the two have lives of their own.
alter table muster.runs add column delivery_id uuid;

-- Sessions without an owner are Muster's own; no key finds them by a name of its own. Schedules need them, too.
alter table muster.sessions alter column owner_key_id drop not null;
create unique index if not exists sessions_of_muster on muster.sessions (tenant, name) where owner_key_id is null;
