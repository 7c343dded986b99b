-- The gate behind a canary: its outcome is judged once, and the other waves are sent only when it was good enough.
--
-- It only adds. Builds that do not know it send the other waves as soon as the canary is settled.

alter table muster.runs add column canary_passed_at timestamptz;

create index runs_canaries on muster.runs (created_at, id)
  where canary_percent is not null and canary_passed_at is null and stop_reason is null and phase = 'assess';
