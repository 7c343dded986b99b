-- When a definition was last offered by a living worker: a worker that stops in good order leaves no row behind.

alter table muster.definitions add column offered_at timestamptz;

create index runs_unfinished_by_definition on muster.runs (definition_digest, created_at)
  where phase <> 'done' and stop_reason is null;
