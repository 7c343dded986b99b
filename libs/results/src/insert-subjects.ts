/** Inserting subject rows: once, by the transaction that settles a chunk or ends a bounded run. */
import type { Tx } from './database.ts';
import { PACKED_COLUMN_NAMES, type PackedSubjects, packedParameters } from './packed-subjects.ts';

/** Whose subjects they are, and where they begin. A bounded run's rows have no chunk. */
export interface SubjectPlace {
  readonly tenant: string;
  readonly sessionId: string;
  readonly runId: string;
  readonly runCreatedAt: Date;
  readonly chunkId: string | null;
  readonly firstOrdinal: number;
}

/** What the rows are called, and where their walks and recordings lie. */
export interface SubjectSource {
  /** JSON of the subjects' names. Null: the names that the chunk was planned with, which the store reads by itself. */
  readonly namesJson: string | null;
  /** The segment that holds the walks. Null: they could not be kept, and no row points at one. */
  readonly walkRef: string | null;
  /** The segment that holds the recordings, in the same way. */
  readonly recordingRef: string | null;
}

const NOT_KEPT = 'The recording could not be stored.';

const FIXED_PARAMETERS = 11;
const PACKED = PACKED_COLUMN_NAMES.map((_, index) => `$${FIXED_PARAMETERS + 1 + index}::text[]`).join(', ');
/** A part of a segment begins where those before it end. */
const offsetOf = (length: string) => `(coalesce(sum(${length}::bigint) over (
  order by place rows between unbounded preceding and 1 preceding), 0))::bigint`;
const INSERT = `
  insert into muster.subjects (tenant, session_id, run_created_at, run_id, chunk_id, ordinal, key, identity, target,
    outcome, verdict, standing, reason_code, reason, columns, evidence, walk_ref, walk_offset, walk_length, walk_sha256,
    recording_ref, recording_offset, recording_length, recording_sha256, recording_note, settled_at)
  select $1, $2, $3, $4, $5::uuid, coalesce((names->>3)::int, $6::int + place::int - 1), names->>0, names->>1,
    names->>2, outcome, verdict, standing, reason_code, reason, columns::json, evidence::json,
    case when has_walk then $8::text end, case when has_walk then walk_offset end,
    case when has_walk then walk_length::bigint end, case when has_walk then walk_sha256 end,
    case when has_recording then $11::text end, case when has_recording then recording_offset end,
    case when has_recording then recording_length::bigint end, case when has_recording then recording_sha256 end,
    case when recording_length is not null and not has_recording then '${NOT_KEPT}' else recording_note end,
    $7::timestamptz
  from (
    select *, $8::text is not null and walk_length is not null as has_walk, ${offsetOf('walk_length')} as walk_offset,
      $11::text is not null and recording_length is not null as has_recording,
      ${offsetOf('recording_length')} as recording_offset
    from rows from (
      unnest(${PACKED}),
      json_array_elements(coalesce($9::json, (select keys from muster.chunks where id = $5::uuid)))
    ) with ordinality as packed (${PACKED_COLUMN_NAMES.join(', ')}, names, place)
    where place <= $10::int
  ) as row`;

/** Inserts packed subjects, the first of the names for the first of them. */
export async function insertSubjects(
  tx: Tx,
  place: SubjectPlace,
  source: SubjectSource,
  packed: PackedSubjects,
  now: Date,
): Promise<void> {
  if (packed.count === 0) return;
  await tx.query(INSERT, [
    place.tenant,
    place.sessionId,
    place.runCreatedAt,
    place.runId,
    place.chunkId,
    place.firstOrdinal,
    now,
    source.walkRef,
    source.namesJson,
    packed.count,
    source.recordingRef,
    ...packedParameters(packed),
  ]);
}
