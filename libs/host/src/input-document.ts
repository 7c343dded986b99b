/**
 * The input of a run as a document: its bounds, its canonical form and the uploads it names (workflow-tools contract).
 */
import { createHash } from 'node:crypto';
import { isArtifactRef } from '@muster/artifacts';
import { canonicalJson } from '@muster/envelope';
import type { FieldFault } from './field-faults.ts';

/** What a document may have at most. */
export type DocumentBounds = Readonly<Record<'bytes' | 'depth' | 'properties', number>>;

export const INPUT_BOUNDS: DocumentBounds = Object.freeze({ bytes: 256 * 1024, depth: 32, properties: 4_096 });
/** Of an answer to a question. */
export const ANSWER_BOUNDS: DocumentBounds = Object.freeze({ bytes: 64 * 1024, depth: 32, properties: 4_096 });

export interface InputDocument {
  readonly canonical: string;
  /** SHA-256 of the canonical text, hex. */
  readonly digest: string;
  /** Each artifact ref that stands anywhere in the input, once. */
  readonly refs: readonly string[];
}

/** A document that cannot be taken. Its message names no value: what was there may be a secret. */
export class DocumentFault extends Error {
  override readonly name = 'DocumentFault';
  readonly code: 'input_invalid' | 'input_out_of_bounds';
  readonly errors: readonly FieldFault[];
  /** With `input_out_of_bounds`. */
  readonly over: { readonly bound: keyof DocumentBounds; readonly limit: number } | undefined;

  constructor(message: string, errors: readonly FieldFault[], over?: DocumentFault['over']) {
    super(message);
    this.code = over === undefined ? 'input_invalid' : 'input_out_of_bounds';
    this.errors = errors;
    this.over = over;
  }
}

/**
 * Reads a document that is plain JSON.
 *
 * @param what how a refusal calls it, and where its places begin: `input`, `answer`
 * @throws DocumentFault
 */
export function readDocument(
  value: Readonly<Record<string, unknown>>,
  what: string,
  bounds: DocumentBounds,
): InputDocument {
  const refs = walk(value, what, bounds);
  const canonical = canonicalJson(value);
  const bytes = Buffer.byteLength(canonical);
  if (bytes > bounds.bytes) throw outOf(what, bounds, 'bytes', bytes);
  return { canonical, digest: sha256(canonical), refs };
}

/** SHA-256 of a text, hex. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function walk(input: object, what: string, bounds: DocumentBounds): string[] {
  const refs = new Set<string>();
  const open: { value: unknown; depth: number }[] = [{ value: input, depth: 1 }];
  let properties = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next;
    if (isArtifactRef(value)) refs.add(value);
    // JSON.parse reads 1e999 as Infinity, which JSON cannot write again.
    if (typeof value === 'number' && !Number.isFinite(value)) throw unwritable(what);
    if (value === null || typeof value !== 'object') continue;
    if (depth > bounds.depth) throw outOf(what, bounds, 'depth', depth);
    const items = Object.values(value);
    if (!Array.isArray(value)) properties += items.length;
    if (properties > bounds.properties) throw outOf(what, bounds, 'properties', properties);
    for (const item of items) open.push({ value: item, depth: depth + 1 });
  }
  return [...refs].sort();
}

function unwritable(what: string): DocumentFault {
  const errors = [{ path: what, expected: 'numbers within the range of a double' }];
  return new DocumentFault(`the ${what} has a number beyond the range of a double`, errors);
}

function outOf(what: string, bounds: DocumentBounds, bound: keyof DocumentBounds, measured: number): DocumentFault {
  const limit = bounds[bound];
  const errors = [{ path: what, expected: `at most ${limit} ${bound}` }];
  const message = `the ${what} has at least ${measured} ${bound}, and may have ${limit}`;
  return new DocumentFault(message, errors, { bound, limit });
}
