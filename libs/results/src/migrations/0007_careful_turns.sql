-- What a death of a worker says about a subject: it was being assessed, alone in its process, when that ended.
--
-- It only adds. Builds that do not know it take every death of a chunk for its subject's doing.

alter table muster.chunks
  add column assessing boolean not null default false,
  add column subject_deaths smallint not null default 0 check (subject_deaths >= 0);
