-- Runs that wait for a person: what they ask, who may answer and until when; and what people did, as an audit that only
-- grows.
--
-- It only adds. Builds that do not know it interrupt no run, and leave alone what waits for an answer.

create table muster.interruptions (
  id uuid primary key,
  run_id uuid not null,
  tenant text not null,
  session_id uuid not null,
  -- The first question of a run is 1.
  number integer not null check (number >= 1),
  source text not null check (source in ('procedure', 'approval')),
  question text not null check (octet_length(question) between 1 and 512),
  details json,
  resume_schema json not null,
  definition_digest text not null,
  -- Of the attempt that asked: what it committed stays, though another attempt finishes the run.
  fence integer not null check (fence >= 1),
  needed_role text not null check (needed_role in ('runner', 'approver', 'admin')),
  self_allowed boolean not null,
  -- Sealed by the caller: it holds a chart's state, unredacted.
  checkpoint bytea,
  state text not null check (state in ('open', 'answered', 'expired', 'dropped')),
  opened_at timestamptz not null,
  expires_at timestamptz not null check (expires_at > opened_at),
  closed_at timestamptz,
  answered_by uuid,
  answer json,
  answer_digest text,
  unique (run_id, number),
  foreign key (tenant, session_id, run_id) references muster.runs (tenant, session_id, id) on delete cascade,
  constraint interruptions_closed_has_end check ((state = 'open') = (closed_at is null)),
  constraint interruptions_answer_is_whole check (
    (state = 'answered') = (answer is not null) and (state = 'answered') = (answer_digest is not null)
      and (state = 'answered') = (answered_by is not null)
  ),
  constraint interruptions_approval_has_no_checkpoint check (source = 'procedure' or checkpoint is null)
);

create unique index interruptions_one_open on muster.interruptions (run_id) where state = 'open';
create index interruptions_waiting on muster.interruptions (tenant, opened_at, id) where state = 'open';
create index interruptions_expiring on muster.interruptions (expires_at) where state = 'open';

-- What a question is never changes, and a closed one is done with, but for its checkpoint, which goes.
create function muster.guard_interruption() returns trigger language plpgsql as $$
begin
  if old.state <> 'open' and (new.state, new.closed_at, new.answered_by, new.answer::text, new.answer_digest)
    is distinct from (old.state, old.closed_at, old.answered_by, old.answer::text, old.answer_digest) then
    raise exception using errcode = 'MU012', message = 'a question is closed once';
  end if;
  if (new.id, new.run_id, new.tenant, new.session_id, new.number, new.source, new.question, new.details::text,
      new.resume_schema::text, new.definition_digest, new.fence, new.needed_role, new.self_allowed, new.opened_at,
      new.expires_at)
    is distinct from
    (old.id, old.run_id, old.tenant, old.session_id, old.number, old.source, old.question, old.details::text,
      old.resume_schema::text, old.definition_digest, old.fence, old.needed_role, old.self_allowed, old.opened_at,
      old.expires_at) then
    raise exception using errcode = 'MU013', message = 'what a run asks never changes';
  end if;
  if new.checkpoint is not null and new.checkpoint is distinct from old.checkpoint then
    raise exception using errcode = 'MU014', message = 'a checkpoint is used or dropped, never replaced';
  end if;
  return new;
end
$$;

create trigger guard_interruption before update on muster.interruptions
  for each row execute function muster.guard_interruption();

-- Append-only, and independent of the rows that it names: retention takes those and leaves this.
create table muster.audit (
  id bigint generated always as identity primary key,
  tenant text not null,
  at timestamptz not null,
  key_id uuid,
  action text not null check (length(action) between 1 and 64),
  run_id uuid,
  interruption_id uuid,
  details json
);

create index audit_of_tenant on muster.audit (tenant, id desc);
create index audit_of_run on muster.audit (run_id, id desc) where run_id is not null;

create function muster.refuse_loss() returns trigger language plpgsql as $$
begin
  raise exception using errcode = 'MU015', message = format('rows of %s are never changed or deleted', tg_table_name);
end
$$;

create trigger refuse_loss before update or delete on muster.audit
  for each row execute function muster.refuse_loss();
create trigger refuse_truncate before truncate on muster.audit
  for each statement execute function muster.refuse_loss();

-- A key that sees the runs of its whole tenant through doors that are bound to a session.
alter table muster.api_keys add column tenant_wide boolean not null default false;

-- A person said no, or nobody answered in time. Both end a run as a cancel does.
alter table muster.runs drop constraint runs_stop_reason_check;
alter table muster.runs add constraint runs_stop_reason_check
  check (stop_reason in ('cancelled', 'deadline', 'error_budget', 'withdrawn', 'refused', 'expired'));
alter table muster.runs drop constraint runs_stop_by_cancel;
alter table muster.runs add constraint runs_stop_by_cancel
  check (cancel_requested_at is null or (stop_reason is not null and stop_reason in ('cancelled', 'refused', 'expired')));

-- What waits for a person is in none of the dispatcher's indexes, however much of it there is.
drop index muster.runs_due;
create index runs_due on muster.runs (tenant, priority, created_at, id)
  where dispatched_at is null and phase in ('plan', 'procedure', 'collect')
    and (status in ('pending', 'running') or (status = 'interrupted' and stop_reason is not null));
drop index muster.runs_assessing;
create index runs_assessing on muster.runs (tenant, priority, created_at, id)
  where phase = 'assess' and (status = 'running' or (status = 'interrupted' and stop_reason is not null));
