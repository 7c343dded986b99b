/**
 * Subjects packed for the insert: each column as the elements of a PostgreSQL array in its binary form.
 *
 * A chart thread packs what it judged, and the worker's main thread hands those bytes on without looking into them. As
 * objects a fleet's rows would be written, read, escaped and parsed four times on their way.
 *
 * Nothing here needs a database, so a thread loads this file alone.
 */
import { storableText } from './bounded-text.ts';

/** What a subject's walk rows are in the segment of its settlement: their size, and what they hash to. */
export interface WalkPart {
  readonly bytes: number;
  readonly sha256: string;
}

/** A subject's recording in the segment of its settlement, or why there is none. */
export type RecordingPart = WalkPart | { readonly note: string };

/** How one subject ended. */
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
  /** The segment holds the walks of a settlement one behind the other, in the order of its subjects. */
  readonly walk?: WalkPart;
  readonly recording?: RecordingPart;
};

/** Subjects by how they ended. */
export interface OutcomeCounts {
  readonly ok: number;
  readonly problem: number;
  readonly declined: number;
  readonly notChecked: number;
  readonly cannotCover: number;
}

/** The packed columns, in the order in which they are bound. */
const COLUMNS = [
  'outcome',
  'verdict',
  'standing',
  'reason_code',
  'reason',
  'columns',
  'evidence',
  'walk_length',
  'walk_sha256',
  'recording_length',
  'recording_sha256',
  'recording_note',
] as const;

/** Packed subjects. Plain data, so that threads can hand it to each other. */
export interface PackedSubjects {
  readonly count: number;
  readonly counts: OutcomeCounts;
  /** One entry a column: a `text[]` in PostgreSQL's binary form, with {@link count} elements. */
  readonly columns: readonly Uint8Array[];
}

/** Packs subjects as they come. */
export class SubjectPacker {
  readonly #columns = COLUMNS.map(() => new TextElements());
  #count = 0;
  #counts = { ok: 0, problem: 0, declined: 0, notChecked: 0, cannotCover: 0 };

  get count(): number {
    return this.#count;
  }

  add(subject: SubjectSettlement): void {
    const judged = 'verdict' in subject ? subject : undefined;
    const values = [
      subject.outcome,
      text(judged?.verdict),
      text(judged?.standing),
      text(subject.reasonCode),
      text(subject.reason),
      json(subject.columns),
      json(subject.evidence),
      text(subject.walk?.bytes.toString()),
      text(subject.walk?.sha256),
      ...recordingValues(subject.recording),
    ];
    for (const [index, value] of values.entries()) (this.#columns[index] as TextElements).add(value);
    this.#count++;
    if (subject.outcome === 'not_checked') this.#counts.notChecked++;
    else if (subject.outcome === 'cannot_cover') this.#counts.cannotCover++;
    else this.#counts[subject.standing]++;
  }

  /** What was packed since the last taking. */
  take(): PackedSubjects {
    const packed = {
      count: this.#count,
      counts: this.#counts,
      columns: this.#columns.map((column) => column.take(this.#count)),
    };
    this.#count = 0;
    this.#counts = { ok: 0, problem: 0, declined: 0, notChecked: 0, cannotCover: 0 };
    return packed;
  }
}

/** Packs a list of subjects. */
export function packSubjects(subjects: readonly SubjectSettlement[]): PackedSubjects {
  const packer = new SubjectPacker();
  for (const subject of subjects) packer.add(subject);
  return packer.take();
}

/** Several packs as one, in order. */
export function joinPacked(parts: readonly PackedSubjects[]): PackedSubjects {
  if (parts.length === 1) return parts[0] as PackedSubjects;
  const sum = (read: (part: PackedSubjects) => number) => parts.reduce((total, part) => total + read(part), 0);
  const count = sum((part) => part.count);
  return {
    count,
    counts: {
      ok: sum((part) => part.counts.ok),
      problem: sum((part) => part.counts.problem),
      declined: sum((part) => part.counts.declined),
      notChecked: sum((part) => part.counts.notChecked),
      cannotCover: sum((part) => part.counts.cannotCover),
    },
    columns: COLUMNS.map((_, index) => {
      const elements = parts.map((part) => (part.columns[index] as Uint8Array).subarray(ARRAY_HEADER_BYTES));
      const joined = Buffer.concat([new Uint8Array(ARRAY_HEADER_BYTES), ...elements]);
      writeHeader(joined, count);
      return joined;
    }),
  };
}

/** One packed column, read back. */
export function readPacked(packed: PackedSubjects, column: (typeof COLUMNS)[number]): (string | null)[] {
  const bytes = asBuffer(packed.columns[COLUMNS.indexOf(column)] as Uint8Array);
  const values: (string | null)[] = [];
  for (let at = ARRAY_HEADER_BYTES; at < bytes.length; ) {
    const length = bytes.readInt32BE(at);
    at += 4;
    values.push(length === NULL_LENGTH ? null : bytes.toString('utf8', at, at + length));
    at += Math.max(0, length);
  }
  return values;
}

/** The names of the packed columns in SQL, in the order of {@link packedParameters}. */
export const PACKED_COLUMN_NAMES: readonly string[] = COLUMNS;

/** One `text[]` parameter a column. */
export function packedParameters(packed: PackedSubjects): Buffer[] {
  return packed.columns.map(asBuffer);
}

const ARRAY_HEADER_BYTES = 20;
const TEXT_OID = 25;
const NULL_LENGTH = -1;
const FIRST_BYTES = 16_384;

/** Elements of a `text[]`: the length of each in bytes, or -1 for null, and its UTF-8. */
class TextElements {
  #bytes = Buffer.allocUnsafe(FIRST_BYTES);
  #length = ARRAY_HEADER_BYTES;

  add(value: string | null): void {
    this.#makeRoom(4 + 3 * (value?.length ?? 0));
    const length = value === null ? NULL_LENGTH : this.#bytes.write(value, this.#length + 4);
    this.#bytes.writeInt32BE(length, this.#length);
    this.#length += 4 + Math.max(0, length);
  }

  /** The array as a copy: it may be transferred, and the space is used again. */
  take(count: number): Uint8Array {
    writeHeader(this.#bytes, count);
    const taken = Uint8Array.prototype.slice.call(this.#bytes, 0, this.#length);
    this.#length = ARRAY_HEADER_BYTES;
    return taken;
  }

  #makeRoom(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, this.#length + bytes));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}

/** Dimensions, whether there may be nulls, the type of the elements, then the one dimension's length and lower bound. */
function writeHeader(array: Buffer, count: number): void {
  for (const [index, value] of [1, 1, TEXT_OID, count, 1].entries()) array.writeInt32BE(value, 4 * index);
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function recordingValues(recording: RecordingPart | undefined): (string | null)[] {
  if (recording === undefined) return [null, null, null];
  return 'note' in recording ? [null, null, text(recording.note)] : [`${recording.bytes}`, recording.sha256, null];
}

function text(value: string | undefined): string | null {
  return value === undefined ? null : storableText(value);
}

function json(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value);
}
