-- The foundation: tenants' keys and sessions, runs with their chunks, subjects, answers, artifacts and history.
--
-- Every row has its tenant, and its session where it belongs to one. Columns whose key order matters are json, never
-- jsonb. Instants that leave as JavaScript dates are whole milliseconds, so that they come back as they are stored.

create table muster.api_keys (
  id uuid primary key,
  tenant text not null check (length(tenant) between 1 and 128),
  name text not null check (length(name) between 1 and 128),
  role text not null check (role in ('reader', 'runner', 'approver', 'admin')),
  key_hash bytea not null unique check (length(key_hash) = 32),
  created_at timestamptz not null,
  revoked_at timestamptz,
  last_used_at timestamptz,
  unique (tenant, id)
);

create table muster.sessions (
  id uuid primary key,
  tenant text not null,
  owner_key_id uuid not null,
  name text not null check (length(name) between 1 and 128),
  created_at timestamptz not null,
  unique (tenant, owner_key_id, name),
  unique (tenant, id),
  foreign key (tenant, owner_key_id) references muster.api_keys (tenant, id)
);

-- What an answer needs of a definition even when no worker has its code any more. A digest names its content, so
-- definitions belong to no tenant.
create table muster.definitions (
  digest text primary key,
  name text not null,
  version text not null,
  declaration json not null,
  created_at timestamptz not null
);

create table muster.inputs (
  tenant text not null,
  digest text not null,
  body json not null,
  created_at timestamptz not null,
  primary key (tenant, digest)
);

create table muster.runs (
  id uuid primary key,
  tenant text not null,
  session_id uuid not null,
  runbook_name text not null,
  runbook_version text not null,
  definition_digest text not null references muster.definitions (digest),
  input_digest text not null,
  form text not null check (form in ('procedure', 'fleet')),
  priority smallint not null check (priority between 0 and 2),
  now timestamptz not null,
  status text not null
    check (status in ('pending', 'running', 'interrupted', 'completed', 'cancelled', 'failed')),
  phase text not null check (phase in ('procedure', 'plan', 'assess', 'collect', 'done')),
  revision integer not null check (revision >= 1),
  fence integer not null default 0 check (fence >= 0),
  starts integer not null default 0 check (starts >= 0),
  dispatch_no integer not null default 0 check (dispatch_no >= 0),
  dispatched_at timestamptz,
  plan_fence integer check (plan_fence between 1 and fence),
  subjects_total integer check (subjects_total >= 0),
  frozen_at timestamptz,
  plan_summary json,
  progress_mark smallint not null default 0 check (progress_mark between 0 and 100),
  stop_reason text check (stop_reason in ('cancelled', 'deadline', 'error_budget', 'withdrawn')),
  cancel_requested_at timestamptz,
  cancel_reason text check (octet_length(cancel_reason) between 1 and 512),
  parent_run_id uuid,
  idempotency_key text check (length(idempotency_key) between 1 and 255),
  idempotency_digest text,
  status_summary text check (octet_length(status_summary) <= 512),
  answer_kind text check (answer_kind in ('envelope', 'absence', 'failure')),
  created_at timestamptz not null check (created_at = date_trunc('milliseconds', created_at)),
  updated_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  unique (tenant, session_id, id),
  foreign key (tenant, session_id) references muster.sessions (tenant, id),
  foreign key (tenant, input_digest) references muster.inputs (tenant, digest),
  foreign key (tenant, session_id, parent_run_id) references muster.runs (tenant, session_id, id),
  constraint runs_final_is_done
    check ((status in ('completed', 'cancelled', 'failed')) = (phase = 'done')),
  constraint runs_final_has_end check ((phase = 'done') = (finished_at is not null)),
  constraint runs_final_has_answer check ((phase = 'done') = (answer_kind is not null)),
  constraint runs_completed_says_something check (status <> 'completed' or answer_kind <> 'failure'),
  constraint runs_form_has_its_phases
    check (phase = 'done' or (form = 'procedure') = (phase = 'procedure')),
  constraint runs_frozen_whole check (
    (frozen_at is null) = (subjects_total is null) and (frozen_at is null) = (plan_fence is null)
  ),
  constraint runs_plan_is_open check (phase not in ('plan', 'procedure') or frozen_at is null),
  constraint runs_assess_is_frozen check (phase <> 'assess' or frozen_at is not null),
  constraint runs_collect_is_frozen_or_stopped
    check (phase <> 'collect' or frozen_at is not null or stop_reason is not null),
  constraint runs_procedure_has_no_fleet check (form = 'fleet' or frozen_at is null),
  constraint runs_cancelled_was_asked
    check (status <> 'cancelled' or cancel_requested_at is not null),
  constraint runs_cancel_has_reason check ((cancel_requested_at is null) = (cancel_reason is null)),
  constraint runs_stop_by_cancel check (cancel_requested_at is null or stop_reason is not distinct from 'cancelled'),
  constraint runs_pending_is_not_started check (status <> 'pending' or started_at is null),
  constraint runs_running_is_started check (status not in ('running', 'interrupted') or started_at is not null),
  constraint runs_idempotency_whole check ((idempotency_key is null) = (idempotency_digest is null))
);

create unique index runs_idempotency on muster.runs (tenant, session_id, idempotency_key)
  where idempotency_key is not null;
create index runs_newest on muster.runs (tenant, created_at desc, id desc);
create index runs_newest_of_session on muster.runs (tenant, session_id, created_at desc, id desc);
create index runs_due on muster.runs (tenant, priority, created_at, id)
  where dispatched_at is null and phase in ('plan', 'procedure', 'collect');
create index runs_dispatched on muster.runs (dispatched_at)
  where dispatched_at is not null and phase in ('plan', 'procedure', 'collect');
create index runs_assessing on muster.runs (tenant, priority, created_at, id) where phase = 'assess';

-- The rules of a run's life, where no code can get around them.
create function muster.guard_run() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    if new.status <> 'pending' or new.revision <> 1 or new.fence <> 0 then
      raise exception using errcode = 'MU001', message = 'a run begins pending, at revision 1 and without a fence';
    end if;
    return new;
  end if;
  if old.phase = 'done' then
    raise exception using errcode = 'MU002', message = 'a final run never changes';
  end if;
  if new.id <> old.id or new.tenant <> old.tenant or new.session_id <> old.session_id
    or new.definition_digest <> old.definition_digest or new.input_digest <> old.input_digest
    or new.form <> old.form or new.now <> old.now or new.created_at <> old.created_at then
    raise exception using errcode = 'MU003', message = 'what a run is never changes';
  end if;
  if new.revision < old.revision or new.fence < old.fence or new.dispatch_no < old.dispatch_no then
    raise exception using errcode = 'MU004', message = 'revision, fence and dispatch number never fall';
  end if;
  if new.status <> old.status then
    if not (
      (old.status = 'pending' and new.status in ('running', 'cancelled', 'failed'))
      or (old.status = 'running' and new.status in ('interrupted', 'completed', 'cancelled', 'failed'))
      or (old.status = 'interrupted' and new.status in ('running', 'cancelled', 'failed'))
    ) then
      raise exception using errcode = 'MU005',
        message = format('a run may not go from %s to %s', old.status, new.status);
    end if;
    if new.revision <= old.revision then
      raise exception using errcode = 'MU006', message = 'a change of status raises the revision';
    end if;
  end if;
  if old.frozen_at is not null and (
    new.frozen_at is distinct from old.frozen_at or new.subjects_total is distinct from old.subjects_total
    or new.plan_fence is distinct from old.plan_fence
  ) then
    raise exception using errcode = 'MU007', message = 'a frozen denominator never changes';
  end if;
  return new;
end
$$;

create trigger guard_run before insert or update on muster.runs
  for each row execute function muster.guard_run();

create function muster.refuse_update() returns trigger language plpgsql as $$
begin
  raise exception using errcode = 'MU008', message = format('rows of %s never change', tg_table_name);
end
$$;

create table muster.answers (
  run_id uuid primary key,
  tenant text not null,
  session_id uuid not null,
  kind text not null check (kind in ('envelope', 'absence', 'failure')),
  body json not null,
  created_at timestamptz not null,
  unique (run_id, kind),
  foreign key (tenant, session_id, run_id) references muster.runs (tenant, session_id, id) on delete cascade
);

create trigger refuse_update before update on muster.answers
  for each row execute function muster.refuse_update();

-- A final run has exactly one answer: its own key points at it, checked when the transaction ends.
alter table muster.runs add constraint runs_answer_exists
  foreign key (id, answer_kind) references muster.answers (run_id, kind) deferrable initially deferred;

create table muster.chunks (
  id uuid primary key,
  tenant text not null,
  session_id uuid not null,
  run_id uuid not null,
  first_ordinal integer not null check (first_ordinal >= 0),
  size integer not null check (size > 0),
  state text not null check (state in ('open', 'settled')),
  plan_fence integer not null check (plan_fence >= 1),
  items bytea,
  keys json not null,
  fence integer not null default 0 check (fence >= 0),
  starts integer not null default 0 check (starts >= 0),
  dispatch_no integer not null default 0 check (dispatch_no >= 0),
  dispatched_at timestamptz,
  settled_at timestamptz,
  ok_count integer not null default 0 check (ok_count >= 0),
  problem_count integer not null default 0 check (problem_count >= 0),
  declined_count integer not null default 0 check (declined_count >= 0),
  not_checked_count integer not null default 0 check (not_checked_count >= 0),
  cannot_cover_count integer not null default 0 check (cannot_cover_count >= 0),
  summary json,
  walk_ref text,
  unique (run_id, plan_fence, first_ordinal),
  foreign key (tenant, session_id, run_id) references muster.runs (tenant, session_id, id) on delete cascade,
  constraint chunks_keys_match_size check (json_array_length(keys) = size),
  constraint chunks_settled_has_end check ((state = 'settled') = (settled_at is not null)),
  constraint chunks_items_until_settled check ((state = 'open') = (items is not null)),
  constraint chunks_settled_adds_up check (
    ok_count + problem_count + declined_count + not_checked_count + cannot_cover_count
      = case state when 'settled' then size else 0 end
  ),
  constraint chunks_open_says_nothing check (state = 'settled' or (summary is null and walk_ref is null))
);

create index chunks_open on muster.chunks (run_id) where state = 'open';
create index chunks_due on muster.chunks (run_id, first_ordinal) where state = 'open' and dispatched_at is null;
create index chunks_dispatched on muster.chunks (dispatched_at) where state = 'open' and dispatched_at is not null;

create function muster.guard_chunk() returns trigger language plpgsql as $$
begin
  if old.state = 'settled' then
    raise exception using errcode = 'MU009', message = 'a settled chunk never changes';
  end if;
  if new.fence < old.fence or new.dispatch_no < old.dispatch_no then
    raise exception using errcode = 'MU004', message = 'fence and dispatch number never fall';
  end if;
  return new;
end
$$;

create trigger guard_chunk before update on muster.chunks
  for each row execute function muster.guard_chunk();

-- One row a subject, inserted once, at settlement. There is no foreign key to runs: its check would lock the run row
-- for every subject, and retention drops whole partitions. The only writer is the settlement of a chunk, which has one.
create table muster.subjects (
  tenant text not null,
  session_id uuid not null,
  run_created_at timestamptz not null,
  run_id uuid not null,
  -- Null for the rows of a bounded run, which has no chunks.
  chunk_id uuid,
  ordinal integer not null check (ordinal >= 0),
  key text not null,
  identity text,
  target text,
  outcome text not null check (outcome in ('verdict', 'declined', 'not_checked', 'cannot_cover')),
  verdict text,
  standing text check (standing in ('ok', 'problem', 'declined')),
  reason_code text,
  reason text,
  columns json,
  evidence json,
  walk_ref text,
  walk_offset bigint check (walk_offset >= 0),
  walk_length bigint check (walk_length >= 0),
  walk_sha256 text,
  settled_at timestamptz not null,
  primary key (run_created_at, run_id, ordinal),
  unique (run_created_at, run_id, key),
  constraint subjects_verdict_is_whole
    check ((outcome in ('verdict', 'declined')) = (verdict is not null) and (verdict is null) = (standing is null)),
  constraint subjects_declined_stands_declined
    check ((outcome = 'declined') = (standing is not distinct from 'declined')),
  constraint subjects_gap_has_reason check (outcome in ('verdict', 'declined') or reason_code is not null),
  constraint subjects_walk_is_whole check (
    (walk_ref is null) = (walk_offset is null) and (walk_ref is null) = (walk_length is null)
      and (walk_ref is null) = (walk_sha256 is null)
  )
) partition by range (run_created_at);

create table muster.subjects_default partition of muster.subjects default;

-- Rows that stand out are few, so these two cost a clean sweep nothing.
create index subjects_standing on muster.subjects (run_id, standing, ordinal) where standing <> 'ok';
create index subjects_gaps on muster.subjects (run_id, outcome, ordinal)
  where outcome in ('not_checked', 'cannot_cover');

create trigger refuse_update before update on muster.subjects
  for each row execute function muster.refuse_update();

create table muster.artifacts (
  ref text primary key,
  tenant text not null,
  session_id uuid not null,
  run_id uuid,
  chunk_id uuid,
  purpose text not null check (length(purpose) between 1 and 64),
  state text not null check (state in ('staged', 'committed', 'deleting')),
  owner text not null,
  fence integer,
  kind text not null,
  media_type text not null,
  bytes bigint check (bytes >= 0),
  digest text,
  store_conversation text not null,
  keep boolean not null default false,
  created_at timestamptz not null,
  committed_at timestamptz,
  foreign key (tenant, session_id) references muster.sessions (tenant, id),
  foreign key (tenant, session_id, run_id) references muster.runs (tenant, session_id, id),
  constraint artifacts_upload_has_no_run check (purpose <> 'upload' or run_id is null),
  constraint artifacts_attempt_is_whole check (
    (run_id is null) = (fence is null) and (chunk_id is null or run_id is not null)
  ),
  constraint artifacts_committed_is_whole check (state <> 'committed' or (bytes is not null and committed_at is not null))
);

create index artifacts_of_run on muster.artifacts (run_id, created_at) where run_id is not null;
create index artifacts_unsettled on muster.artifacts (created_at) where state <> 'committed';
create index artifacts_uploads on muster.artifacts (created_at) where purpose = 'upload';

-- One upload may be the input of several runs; it goes when the last of them is sealed.
create table muster.run_uploads (
  run_id uuid not null references muster.runs (id) on delete cascade,
  ref text not null references muster.artifacts (ref) on delete cascade,
  tenant text not null,
  session_id uuid not null,
  primary key (run_id, ref)
);

create index run_uploads_by_ref on muster.run_uploads (ref);

create table muster.run_events (
  run_id uuid not null,
  tenant text not null,
  session_id uuid not null,
  revision integer not null check (revision >= 1),
  seq smallint not null check (seq >= 0),
  event_id uuid not null,
  kind text not null check (kind in (
    'run_started', 'vertex_completed', 'run_interrupted', 'run_resumed', 'run_completed', 'run_cancelled', 'run_failed'
  )),
  run_status text not null
    check (run_status in ('pending', 'running', 'interrupted', 'completed', 'cancelled', 'failed')),
  vertex_id text check (octet_length(vertex_id) <= 128),
  vertex_label text check (octet_length(vertex_label) <= 128),
  completed_vertices integer check (completed_vertices >= 0),
  total_vertices integer check (total_vertices >= 0),
  message text check (octet_length(message) <= 512),
  occurred_at timestamptz not null,
  primary key (run_id, revision, seq),
  unique (run_id, event_id),
  foreign key (tenant, session_id, run_id) references muster.runs (tenant, session_id, id) on delete cascade
);

create trigger refuse_update before update on muster.run_events
  for each row execute function muster.refuse_update();

-- Processes, not tenants' data. `digests` are the definitions whose code the process has.
create table muster.workers (
  id text primary key,
  digests text[] not null,
  started_at timestamptz not null,
  seen_at timestamptz not null
);
