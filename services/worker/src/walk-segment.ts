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

/** Mints the walks of several parts as one segment. */
export async function mintSegment(
  sink: ArtifactSink,
  parts: readonly (readonly WalkRow[])[],
  facts: { readonly runId: string; readonly what: string },
): Promise<MintedSegment> {
  const texts = parts.map((rows) => rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const data = texts.join('');
  if (data === '') return { ranges: parts.map(() => undefined) };
  try {
    const { ref } = await sink.put({
      kind: SEGMENT_ARTIFACT_KIND,
      mediaType: 'application/x-ndjson',
      data,
      label: `walk segment of ${facts.what}`,
      origin: { runId: facts.runId, toolCallId: facts.runId },
    });
    return { ref, ranges: rangesOf(ref, texts) };
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

function rangesOf(ref: string, texts: readonly string[]): (WalkRange | undefined)[] {
  let offset = 0;
  return texts.map((text) => {
    const bytes = Buffer.from(text);
    const range = { ref, offset, length: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
    offset += bytes.length;
    return bytes.length === 0 ? undefined : range;
  });
}
