import type { ArtifactRef } from './artifact-ref.ts';
import type { ArtifactMeta, ArtifactScope, ArtifactStore, ByteRange } from './artifact-store.ts';

/**
 * Reads one range into memory: a subject's walk inside a segment is one such read. Null when the artifact does not
 * exist. The bytes are not checked against a digest; whoever knows the range's own digest checks it.
 */
export async function readArtifactRange(
  store: Pick<ArtifactStore, 'getStream'>,
  scope: ArtifactScope,
  ref: ArtifactRef,
  range: ByteRange & { signal?: AbortSignal },
): Promise<{ meta: ArtifactMeta; range: { start: number; end: number }; data: Uint8Array } | null> {
  const found = await store.getStream(scope, ref, range);
  if (found === null) return null;
  const data = new Uint8Array(found.range.end - found.range.start);
  let at = 0;
  for await (const chunk of found.body) {
    data.set(chunk, at);
    at += chunk.length;
  }
  return { meta: found.meta, range: found.range, data };
}
