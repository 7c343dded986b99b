/**
 * One page of a listing, newest first, picked while the names of a scope go by.
 *
 * Invariants:
 * - the order is total (written last first, then by key), so pages neither overlap nor leave anything out while the
 *   scope does not change;
 * - memory is bounded by the page, whatever the scope holds.
 */
import { ArtifactInvalidError } from './artifact-errors.ts';
import type { ListedObject } from './object-storage.ts';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

export interface KeyPage {
  readonly objects: readonly ListedObject[];
  readonly cursor?: string;
}

/** Picks the page of the keys under `prefix` after `cursor`. @throws ArtifactInvalidError for a limit or cursor that is none */
export async function pickNewestFirst(
  listing: AsyncIterable<ListedObject>,
  prefix: string,
  options: { cursor?: string; limit?: number },
): Promise<KeyPage> {
  const limit = readLimit(options.limit);
  const after = options.cursor === undefined ? undefined : readCursor(options.cursor, prefix);
  let best: ListedObject[] = [];
  for await (const object of listing) {
    if (after !== undefined && compare(object, after) <= 0) continue;
    best.push(object);
    if (best.length > 2 * MAX_LIMIT + limit) best = best.sort(compare).slice(0, limit + 1);
  }
  best.sort(compare);
  const objects = best.slice(0, limit);
  const last = objects.at(-1);
  return best.length > limit && last !== undefined ? { objects, cursor: writeCursor(last, prefix) } : { objects };
}

function compare(a: ListedObject, b: ListedObject): number {
  if (a.writtenAt !== b.writtenAt) return b.writtenAt - a.writtenAt;
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}

function readLimit(limit: number | undefined): number {
  if (limit === undefined) return DEFAULT_LIMIT;
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > MAX_LIMIT) {
    throw new ArtifactInvalidError(`limit must be a whole number from 1 to ${MAX_LIMIT}`);
  }
  return limit;
}

/** A cursor names the last ref of a page, without the scope: that comes with the next call. */
function writeCursor(object: ListedObject, prefix: string): string {
  return Buffer.from(JSON.stringify([object.writtenAt, object.key.slice(prefix.length)])).toString('base64url');
}

function readCursor(cursor: string, prefix: string): ListedObject {
  try {
    const [writtenAt, name] = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    if (Number.isFinite(writtenAt) && typeof name === 'string') return { writtenAt, key: prefix + name };
  } catch {
    // Falls through to the one refusal.
  }
  throw new ArtifactInvalidError('cursor is not one that this store gave');
}
