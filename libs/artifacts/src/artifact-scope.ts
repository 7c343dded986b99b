/**
 * Scopes as key prefixes.
 *
 * Invariants (a property test holds them):
 * - two scopes have the same prefix only if all their parts are equal, an absent part not being an empty one;
 * - no prefix is the beginning of another: parts are whole path segments, and prefixes end in `/`;
 * - segments hold only `a-z 0-9 - _`, so they cannot climb out of a folder and stay apart where case does not count.
 */
import { createHash } from 'node:crypto';
import { ArtifactInvalidError } from './artifact-errors.ts';
import type { ArtifactScope } from './artifact-store.ts';

/** Longer segments are replaced by a hash: file systems end names at 255 bytes, S3 keys at 1,024. */
const MAX_SEGMENT_LENGTH = 150;

/** The prefix under which a scope's artifacts lie. @throws ArtifactInvalidError */
export function scopePrefix(scope: ArtifactScope): string {
  if (typeof scope !== 'object' || scope === null) throw new ArtifactInvalidError('scope must be an object');
  if (scope.conversationId === '') throw new ArtifactInvalidError('scope.conversationId must not be empty');
  const tenant = scope.tenant === undefined ? 't' : segment('t', 'tenant', scope.tenant);
  const principal = scope.principal === undefined ? 'p' : segment('p', 'principal', scope.principal);
  return `${tenant}/${principal}/${segment('c', 'conversationId', scope.conversationId)}/`;
}

function segment(letter: string, name: string, value: unknown): string {
  if (typeof value !== 'string' || !value.isWellFormed()) {
    throw new ArtifactInvalidError(`scope.${name} must be a string of well-formed Unicode`);
  }
  const bytes = new TextEncoder().encode(value);
  const encoded = `${letter}-${Array.from(bytes, encodeByte).join('')}`;
  if (encoded.length <= MAX_SEGMENT_LENGTH) return encoded;
  return `${letter}h-${createHash('sha256').update(bytes).digest('hex')}`;
}

function encodeByte(byte: number): string {
  const isPlain = (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x30 && byte <= 0x39) || byte === 0x2d;
  return isPlain ? String.fromCharCode(byte) : `_${byte.toString(16).padStart(2, '0')}`;
}
