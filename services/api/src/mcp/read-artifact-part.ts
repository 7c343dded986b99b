import type { ApiDeps } from '../api-deps.ts';
import { Problem } from '../problems.ts';
import type { RunReader } from '../use-cases/find-run.ts';
import { lookUpArtifact, openArtifact, type ReadableArtifact } from '../use-cases/open-artifact.ts';

/** A part of an artifact's bytes, with what is known of the whole. */
export interface ArtifactPart {
  readonly artifact: ReadableArtifact;
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/**
 * Reads a range of an artifact, cut to what there is.
 *
 * @throws Problem `artifact_not_found`: missing, expired, of another tenant, or of another session than the reader's
 */
export async function readArtifactPart(
  deps: ApiDeps,
  reader: RunReader,
  ref: string,
  range: { readonly offset: number; readonly length: number },
): Promise<ArtifactPart> {
  const artifact = await lookUpArtifact(deps, reader.caller, ref);
  if (reader.sessionId !== undefined && artifact.sessionId !== reader.sessionId) {
    throw new Problem('artifact_not_found', 'there is no such artifact');
  }
  const start = Math.min(range.offset, artifact.bytes);
  const end = Math.min(start + range.length, artifact.bytes);
  if (start === end) return { artifact, offset: start, bytes: new Uint8Array() };
  const stream = await openArtifact(deps, artifact, { start, end });
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return { artifact, offset: start, bytes: Buffer.concat(chunks) };
}
