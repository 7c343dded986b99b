/**
 * The input of a run as a document: its bounds, its canonical form and the uploads it names (workflow-tools contract).
 */
import { createHash } from 'node:crypto';
import { isArtifactRef } from '@muster/artifacts';
import { canonicalJson } from '@muster/envelope';
import { Problem } from '../problems.ts';

export const INPUT_BOUNDS = Object.freeze({ bytes: 256 * 1024, depth: 32, properties: 4_096 });

export interface InputDocument {
  readonly canonical: string;
  /** SHA-256 of the canonical text, hex. */
  readonly digest: string;
  /** Each artifact ref that stands anywhere in the input, once. */
  readonly refs: readonly string[];
}

/** Reads an input that is plain JSON. @throws Problem `input_out_of_bounds` */
export function readInputDocument(input: Readonly<Record<string, unknown>>): InputDocument {
  const refs = walk(input);
  const canonical = canonicalJson(input);
  const bytes = Buffer.byteLength(canonical);
  if (bytes > INPUT_BOUNDS.bytes) throw outOfBounds('bytes', bytes);
  return { canonical, digest: sha256(canonical), refs };
}

/** SHA-256 of a text, hex. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function walk(input: object): string[] {
  const refs = new Set<string>();
  const open: { value: unknown; depth: number }[] = [{ value: input, depth: 1 }];
  let properties = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next;
    if (isArtifactRef(value)) refs.add(value);
    // JSON.parse reads 1e999 as Infinity, which JSON cannot write again.
    if (typeof value === 'number' && !Number.isFinite(value)) throw unwritableNumber();
    if (value === null || typeof value !== 'object') continue;
    if (depth > INPUT_BOUNDS.depth) throw outOfBounds('depth', depth);
    const items = Object.values(value);
    if (!Array.isArray(value)) properties += items.length;
    if (properties > INPUT_BOUNDS.properties) throw outOfBounds('properties', properties);
    for (const item of items) open.push({ value: item, depth: depth + 1 });
  }
  return [...refs].sort();
}

function unwritableNumber(): Problem {
  const errors = [{ path: 'input', expected: 'numbers within the range of a double' }];
  return new Problem('input_invalid', 'the input has a number beyond the range of a double', { errors });
}

function outOfBounds(bound: keyof typeof INPUT_BOUNDS, measured: number): Problem {
  const detail = `the input has at least ${measured} ${bound}, and may have ${INPUT_BOUNDS[bound]}`;
  return new Problem('input_out_of_bounds', detail, { bound, limit: INPUT_BOUNDS[bound] });
}
