/**
 * Walk segments (DESIGN 11): the walk rows of many subjects as one uncompressed NDJSON artifact, so that one subject's
 * walk is one ranged read, checked by the hash of its range.
 */
import { createHash } from 'node:crypto';
import type { ArtifactStore } from '@muster/artifacts';
import { type ArtifactSink, errorIdentity, type WalkRow } from '@muster/envelope';
import { scopeOf } from '@muster/host';
import type { RunRecord, WalkRange } from '@muster/results';

export const SEGMENT_ARTIFACT_KIND = 'recording/walk-segment';

/** A minted segment: without a ref when it could not be stored, which costs the walk and never the answer. */
export interface MintedSegment {
  readonly ref?: string;
  /** One range a part, in the order given; a part without rows has none. */
  readonly ranges: readonly (WalkRange | undefined)[];
  readonly failure?: string;
}

/** One part of a segment: its rows as NDJSON, with their size in bytes and their hash. */
export interface SegmentPart {
  readonly text: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Writes walk rows as a part; undefined when there are none. */
export function segmentPart(rows: readonly WalkRow[]): SegmentPart | undefined {
  if (rows.length === 0) return undefined;
  const text = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  return { text, bytes: Buffer.byteLength(text), sha256: createHash('sha256').update(text).digest('hex') };
}

/** Mints the walks of several parts as one segment. */
export async function mintSegment(
  sink: ArtifactSink,
  parts: readonly (SegmentPart | undefined)[],
  facts: { readonly runId: string; readonly what: string },
): Promise<MintedSegment> {
  const data = parts.map((part) => part?.text ?? '').join('');
  if (data === '') return { ranges: parts.map(() => undefined) };
  try {
    const { ref } = await sink.put({
      kind: SEGMENT_ARTIFACT_KIND,
      mediaType: 'application/x-ndjson',
      data,
      label: `walk segment of ${facts.what}`,
      origin: { runId: facts.runId, toolCallId: facts.runId },
    });
    return { ref, ranges: rangesOf(ref, parts) };
  } catch (error) {
    return { ranges: parts.map(() => undefined), failure: errorIdentity(error) };
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

function rangesOf(ref: string, parts: readonly (SegmentPart | undefined)[]): (WalkRange | undefined)[] {
  let offset = 0;
  return parts.map((part) => {
    if (part === undefined) return undefined;
    const range = { ref, offset, length: part.bytes, sha256: part.sha256 };
    offset += part.bytes;
    return range;
  });
}
