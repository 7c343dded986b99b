-- Where a subject's recording lies in its segment, or why there is none.
--
-- It only adds. Builds that do not know it file no recordings of subjects.

alter table muster.subjects
  add column recording_ref text,
  add column recording_offset bigint check (recording_offset >= 0),
  add column recording_length bigint check (recording_length >= 0),
  add column recording_sha256 text,
  add column recording_note text,
  add constraint subjects_recording_is_whole check (
    (recording_ref is null) = (recording_offset is null) and (recording_ref is null) = (recording_length is null)
      and (recording_ref is null) = (recording_sha256 is null) and (recording_ref is null or recording_note is null)
  );

-- Encrypted items do not compress: trying costs time for nothing.
alter table muster.chunks alter column items set storage external;
