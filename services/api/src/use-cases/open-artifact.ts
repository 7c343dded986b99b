import { type ByteRange, isArtifactRef } from '@muster/artifacts';
import { type ArtifactRecord, findArtifact } from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import type { Caller } from '../caller.ts';
import { Problem } from '../problems.ts';

/** An artifact that may be read: committed, of the caller's tenant, and not an uploaded input. */
export interface ReadableArtifact extends ArtifactRecord {
  readonly bytes: number;
}

/**
 * What is known of an artifact. Uploaded inputs are never served back (DESIGN decision 13).
 *
 * @throws Problem `artifact_not_found`, the same for missing, foreign, expired and unfinished ones
 */
export async function lookUpArtifact(deps: ApiDeps, caller: Caller, ref: string): Promise<ReadableArtifact> {
  const record = isArtifactRef(ref) ? await findArtifact(deps.db, { tenant: caller.tenant, ref }) : undefined;
  if (record === undefined || record.purpose === 'upload' || record.bytes === null) throw artifactNotFound();
  return { ...record, bytes: record.bytes };
}

/** The bytes of an artifact or of a range of it, as they come. @throws Problem `artifact_not_found` */
export async function openArtifact(
  deps: ApiDeps,
  artifact: ReadableArtifact,
  range: ByteRange = {},
): Promise<ReadableStream<Uint8Array>> {
  const scope = { tenant: artifact.tenant, conversationId: artifact.storeConversation };
  const opened = await deps.artifacts.getStream(scope, artifact.ref, range);
  if (opened === null) throw artifactNotFound();
  return opened.body;
}

function artifactNotFound(): Problem {
  return new Problem('artifact_not_found', 'there is no such artifact');
}
