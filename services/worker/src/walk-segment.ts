/**
 * Walk segments (DESIGN 11): the walk rows of many subjects as one uncompressed NDJSON artifact, so that one subject's
 * walk is one ranged read, checked by the hash of its range.
 */
import { hash } from 'node:crypto';
import type { ArtifactStore } from '@muster/artifacts';
import { errorIdentity, type MintInput, type WalkRow } from '@muster/envelope';
import { scopeOf } from '@muster/host';
import type { RunRecord } from '@muster/results';
import type { WalkPart } from '@muster/results/packed-subjects';

export const SEGMENT_ARTIFACT_KIND = 'recording/walk-segment';
export const RECORDINGS_ARTIFACT_KIND = 'recording/subject-segment';

/** Where a segment is put: its data are bytes already. */
export interface SegmentSink {
  put(input: Omit<MintInput, 'data'> & { readonly data: Uint8Array }): Promise<{ readonly ref: string }>;
}

/** A minted segment: without a ref when it could not be stored, which costs the walk and never the answer. */
export interface MintedSegment {
  readonly ref?: string;
  readonly failure?: string;
}

const FIRST_BYTES = 262_144;

/** Writes the parts of a segment one behind the other. */
export class SegmentWriter {
  #bytes = Buffer.alloc(0);
  #length = 0;

  /** Appends one walk; undefined when it has no rows. */
  addWalk(rows: readonly WalkRow[]): WalkPart | undefined {
    return rows.length === 0 ? undefined : this.add(walkLines(rows));
  }

  /** Appends a part. */
  add(text: string): WalkPart {
    const from = this.#length;
    this.#write(text);
    return { bytes: this.#length - from, sha256: hash('sha256', this.#bytes.subarray(from, this.#length)) };
  }

  /** What was written since the last taking, as a copy: it may be transferred, and the space is used again. */
  take(): Uint8Array {
    const taken = Uint8Array.prototype.slice.call(this.#bytes, 0, this.#length);
    this.#length = 0;
    return taken;
  }

  #write(text: string): void {
    const needed = this.#length + 3 * text.length;
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, 2 * this.#bytes.length, needed));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    this.#length += this.#bytes.write(text, this.#length);
  }
}

/** One walk as NDJSON. */
export function walkBytes(rows: readonly WalkRow[]): Uint8Array {
  return Buffer.from(walkLines(rows));
}

/** Mints the bytes of a segment; there is none of no bytes. */
export async function mintSegment(
  sink: SegmentSink,
  data: Uint8Array,
  facts: { readonly runId: string; readonly what: string; readonly kind?: string },
): Promise<MintedSegment> {
  if (data.length === 0) return {};
  const { kind = SEGMENT_ARTIFACT_KIND } = facts;
  try {
    const { ref } = await sink.put({
      kind,
      mediaType: 'application/x-ndjson',
      data,
      label: `${kind === SEGMENT_ARTIFACT_KIND ? 'walk segment' : 'recordings'} of ${facts.what}`,
      origin: { runId: facts.runId, toolCallId: facts.runId },
    });
    return { ref };
  } catch (error) {
    return { failure: errorIdentity(error) };
  }
}

/** Streams the rows of a segment in small pages. */
export async function* readSegment(store: ArtifactStore, run: RunRecord, ref: string): AsyncGenerator<WalkRow[]> {
  const record = await store.getStream(scopeOf(run), ref);
  if (record === null) return;
  const lines = record.body.pipeThrough(new TextDecoderStream());
  let rest = '';
  for await (const text of lines) {
    const parts = `${rest}${text}`.split('\n');
    rest = parts.pop() as string;
    yield parts.filter((line) => line !== '').map((line) => JSON.parse(line) as WalkRow);
  }
  if (rest !== '') yield [JSON.parse(rest) as WalkRow];
}

/**
 * What `JSON.stringify` of each row gives. Walks are most of what a fleet writes, and the rows of one stage share its
 * names: those are encoded once a stage.
 */
function walkLines(rows: readonly WalkRow[]): string {
  let lines = '';
  let last: WalkRow | undefined;
  let names = '';
  for (const row of rows) {
    if (last === undefined || !isSameStage(last, row)) {
      const { stage, stage_id, runtime_stage_id, subflow } = row;
      names = JSON.stringify({ stage, stage_id, runtime_stage_id, subflow }).slice(1, -1);
      last = row;
    }
    const { step, type, depth, text } = row;
    lines += `{"step":${step},"type":${JSON.stringify(type)},"depth":${depth},${names},"text":${JSON.stringify(text)}}\n`;
  }
  return lines;
}

function isSameStage(left: WalkRow, right: WalkRow): boolean {
  return (
    left.stage === right.stage &&
    left.stage_id === right.stage_id &&
    left.runtime_stage_id === right.runtime_stage_id &&
    left.subflow === right.subflow
  );
}
