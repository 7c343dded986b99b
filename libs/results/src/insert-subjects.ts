/** Inserting subject rows: once, by the transaction that settles a chunk or ends a bounded run. */
import { storableText } from './bounded-text.ts';
import type { Tx } from './database.ts';
import type { SubjectNames } from './plan-chunks.ts';

/** Where a subject's walk rows lie in its segment, and what they hash to. */
export interface WalkRange {
  readonly ref: string;
  readonly offset: number;
  readonly length: number;
  readonly sha256: string;
}

/** A value that was written as JSON where it was made, and is stored as that text. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** How one subject ended. `columns` and `evidence` may come as {@link JsonText}. */
export type SubjectSettlement = (
  | { readonly outcome: 'verdict'; readonly verdict: string; readonly standing: 'ok' | 'problem' }
  | { readonly outcome: 'declined'; readonly verdict: string; readonly standing: 'declined' }
  | { readonly outcome: 'not_checked' }
  | { readonly outcome: 'cannot_cover' }
) & {
  /** Required unless there is a verdict. */
  readonly reasonCode?: string;
  readonly reason?: string;
  /** The row's columns; the order of its keys is kept. */
  readonly columns?: unknown;
  readonly evidence?: unknown;
  readonly walk?: WalkRange;
};

/** Whose subjects they are, and where they begin. A bounded run's rows have no chunk. */
export interface SubjectPlace {
  readonly tenant: string;
  readonly sessionId: string;
  readonly runId: string;
  readonly runCreatedAt: Date;
  readonly chunkId: string | null;
  readonly firstOrdinal: number;
}

/** Inserts subjects, one entry of `names` for each. */
export async function insertSubjects(
  tx: Tx,
  place: SubjectPlace,
  names: readonly SubjectNames[],
  subjects: readonly SubjectSettlement[],
  now: Date,
): Promise<void> {
  if (subjects.length === 0) return;
  await tx.query(
    `insert into muster.subjects (tenant, session_id, run_created_at, run_id, chunk_id, ordinal, key, identity, target,
      outcome, verdict, standing, reason_code, reason, columns, evidence, walk_ref, walk_offset, walk_length,
      walk_sha256, settled_at)
    select $1, $2, $3, $4, $5, $6::int + row.place::int - 1, row.key, row.identity, row.target, row.outcome,
      row.verdict, row.standing, row.reason_code, row.reason, row.columns::json, row.evidence::json, row.walk_ref,
      row.walk_offset, row.walk_length, row.walk_sha256, $7
    from unnest($8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[],
      $16::text[], $17::text[], $18::text[], $19::bigint[], $20::bigint[], $21::text[]) with ordinality
      as row (key, identity, target, outcome, verdict, standing, reason_code, reason, columns, evidence, walk_ref,
        walk_offset, walk_length, walk_sha256, place)`,
    [
      place.tenant,
      place.sessionId,
      place.runCreatedAt,
      place.runId,
      place.chunkId,
      place.firstOrdinal,
      now,
      names.map(([key]) => storableText(key)),
      names.map(([, identity]) => identity),
      names.map(([, , target]) => target),
      subjects.map((subject) => subject.outcome),
      subjects.map((subject) => ('verdict' in subject ? storableText(subject.verdict) : null)),
      subjects.map((subject) => ('standing' in subject ? subject.standing : null)),
      subjects.map((subject) => subject.reasonCode ?? null),
      subjects.map((subject) => (subject.reason === undefined ? null : storableText(subject.reason))),
      subjects.map((subject) => json(subject.columns)),
      subjects.map((subject) => json(subject.evidence)),
      subjects.map((subject) => subject.walk?.ref ?? null),
      subjects.map((subject) => subject.walk?.offset ?? null),
      subjects.map((subject) => subject.walk?.length ?? null),
      subjects.map((subject) => subject.walk?.sha256 ?? null),
    ],
  );
}

function json(value: unknown): string | null {
  if (value instanceof JsonText) return value.text;
  return value === undefined ? null : JSON.stringify(value);
}
