/**
 * Records: what a put says about its payload, checked once and kept beside the bytes.
 *
 * Invariant: a record and its seal fit, as base64, into the 2 kB that S3 gives user metadata. The limit holds in every
 * adapter, so that what fits into one fits into all.
 */
import { ArtifactInvalidError } from './artifact-errors.ts';
import type { PayloadEncoding } from './artifact-payload.ts';
import { isArtifactRef, newArtifactRef } from './artifact-ref.ts';
import type { ArtifactMeta, ArtifactOrigin, PutArtifactDetails } from './artifact-store.ts';
import type { ObjectRecord, ObjectSeal, StoredObject } from './object-storage.ts';

/** What kind, mediaType, label, origin and parentRefs may take together, as JSON in UTF-8. */
export const MAX_DESCRIPTION_BYTES = 1_100;

const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(\s*;[\x20-\x7e]*)?$/;

/** Checks what a put says and makes its record. @throws ArtifactInvalidError */
export function buildRecord(input: PutArtifactDetails, encoding: PayloadEncoding, createdAt: number): ObjectRecord {
  if (typeof input !== 'object' || input === null) throw new ArtifactInvalidError('a put needs an input object');
  if (input.ref !== undefined && !isArtifactRef(input.ref))
    throw new ArtifactInvalidError('ref is not an artifact ref');
  if (input.digest !== undefined && input.digest !== 'sha-256') {
    throw new ArtifactInvalidError("digest must be 'sha-256' or absent");
  }
  if (input.expiresAt !== undefined && !(Number.isSafeInteger(input.expiresAt) && input.expiresAt >= 0)) {
    throw new ArtifactInvalidError('expiresAt must be whole Unix milliseconds');
  }
  const description = {
    kind: requireText('kind', input.kind),
    mediaType: requireMediaType(input.mediaType),
    ...(input.label === undefined ? {} : { label: requireText('label', input.label) }),
    ...(input.origin === undefined ? {} : { origin: requireOrigin(input.origin) }),
    ...(input.parentRefs === undefined ? {} : { parentRefs: requireRefs(input.parentRefs) }),
  };
  const described = new TextEncoder().encode(JSON.stringify(description)).length;
  if (described > MAX_DESCRIPTION_BYTES) {
    throw new ArtifactInvalidError(
      `kind, mediaType, label, origin and parentRefs take ${described} bytes together; ${MAX_DESCRIPTION_BYTES} are allowed`,
    );
  }
  const expiry = input.expiresAt === undefined ? {} : { expiresAt: input.expiresAt };
  return { ref: input.ref ?? newArtifactRef(), ...description, ...expiry, createdAt, encoding };
}

/** The public face of a stored object. */
export function artifactMeta({ record, seal }: Pick<StoredObject, 'record' | 'seal'>): ArtifactMeta {
  const { ref, kind, mediaType, encoding: _encoding, ...rest } = record;
  return Object.freeze({ ref, kind, mediaType, ...seal, ...rest });
}

/** Reads a record, perhaps with its seal, from JSON; undefined when it is not one of ours. */
export function readRecord(json: string): { record: ObjectRecord; seal?: ObjectSeal } | undefined {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return undefined;
  }
  const { record, seal } = (typeof value === 'object' && value !== null ? value : {}) as {
    record?: ObjectRecord;
    seal?: ObjectSeal;
  };
  const isRecord =
    isArtifactRef(record?.ref) &&
    typeof record.kind === 'string' &&
    typeof record.mediaType === 'string' &&
    Number.isSafeInteger(record.createdAt) &&
    ['text', 'bytes', 'json'].includes(record.encoding);
  if (!isRecord) return undefined;
  if (seal !== undefined && !Number.isSafeInteger(seal?.bytes)) return undefined;
  return { record, ...(seal === undefined ? {} : { seal }) };
}

function requireText(name: string, value: unknown): string {
  if (typeof value !== 'string' || value === '' || !value.isWellFormed()) {
    throw new ArtifactInvalidError(`${name} must be a non-empty string of well-formed Unicode`);
  }
  return value;
}

function requireMediaType(value: unknown): string {
  if (typeof value !== 'string' || !MEDIA_TYPE.test(value)) {
    throw new ArtifactInvalidError('mediaType must be of the form type/subtype, in printable ASCII');
  }
  return value;
}

function requireOrigin(value: ArtifactOrigin): ArtifactOrigin {
  if (typeof value !== 'object' || value === null) throw new ArtifactInvalidError('origin must be an object');
  const { runId, toolCallId } = value;
  return {
    ...(runId === undefined ? {} : { runId: requireText('origin.runId', runId) }),
    ...(toolCallId === undefined ? {} : { toolCallId: requireText('origin.toolCallId', toolCallId) }),
  };
}

function requireRefs(value: readonly string[]): readonly string[] {
  if (!Array.isArray(value) || !value.every(isArtifactRef)) {
    throw new ArtifactInvalidError('parentRefs must be a list of artifact refs');
  }
  return [...value];
}
