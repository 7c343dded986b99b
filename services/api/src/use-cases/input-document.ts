/**
 * The input of a run as a document: its bounds, its canonical form and the uploads it names (workflow-tools contract).
 */
import { createHash } from 'node:crypto';
import { isArtifactRef } from '@muster/artifacts';
import { canonicalJson } from '@muster/envelope';
import { type FieldFault, Problem } from '../problems.ts';

export const INPUT_BOUNDS = Object.freeze({ bytes: 256 * 1024, depth: 32, properties: 4_096 });
/** Of an answer to a question. */
export const ANSWER_BOUNDS = Object.freeze({ bytes: 64 * 1024, depth: 32, properties: 4_096 });

type Bounds = Readonly<Record<'bytes' | 'depth' | 'properties', number>>;

export interface InputDocument {
  readonly canonical: string;
  /** SHA-256 of the canonical text, hex. */
  readonly digest: string;
  /** Each artifact ref that stands anywhere in the input, once. */
  readonly refs: readonly string[];
}

/** Reads an input that is plain JSON. @throws Problem `input_out_of_bounds`, `input_invalid` */
export function readInputDocument(input: Readonly<Record<string, unknown>>): InputDocument {
  return readDocument(input, INPUT_BOUNDS, (fault) => {
    if (fault.bound === undefined)
      return new Problem('input_invalid', `the input has ${fault.found}`, errorsAt('input', fault));
    const { bound, limit } = fault;
    return new Problem('input_out_of_bounds', `the input has ${fault.found}`, { bound, limit });
  });
}

/** Reads an answer that is plain JSON. @throws Problem `resume_invalid` */
export function readAnswerDocument(answer: Readonly<Record<string, unknown>>): InputDocument {
  return readDocument(answer, ANSWER_BOUNDS, (fault) => {
    return new Problem('resume_invalid', `the answer has ${fault.found}`, errorsAt('resume', fault));
  });
}

/** SHA-256 of a text, hex. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

interface Fault {
  /** What the document has. */
  readonly found: string;
  readonly expected: string;
  readonly bound?: keyof Bounds;
  readonly limit?: number;
}

type Refuse = (fault: Fault) => Problem;

function readDocument(value: Readonly<Record<string, unknown>>, bounds: Bounds, refuse: Refuse): InputDocument {
  const refs = walk(value, bounds, refuse);
  const canonical = canonicalJson(value);
  const bytes = Buffer.byteLength(canonical);
  if (bytes > bounds.bytes) throw refuse(outOf(bounds, 'bytes', bytes));
  return { canonical, digest: sha256(canonical), refs };
}

function walk(input: object, bounds: Bounds, refuse: Refuse): string[] {
  const refs = new Set<string>();
  const open: { value: unknown; depth: number }[] = [{ value: input, depth: 1 }];
  let properties = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next;
    if (isArtifactRef(value)) refs.add(value);
    // JSON.parse reads 1e999 as Infinity, which JSON cannot write again.
    if (typeof value === 'number' && !Number.isFinite(value)) throw refuse(UNWRITABLE_NUMBER);
    if (value === null || typeof value !== 'object') continue;
    if (depth > bounds.depth) throw refuse(outOf(bounds, 'depth', depth));
    const items = Object.values(value);
    if (!Array.isArray(value)) properties += items.length;
    if (properties > bounds.properties) throw refuse(outOf(bounds, 'properties', properties));
    for (const item of items) open.push({ value: item, depth: depth + 1 });
  }
  return [...refs].sort();
}

const UNWRITABLE_NUMBER: Fault = {
  found: 'a number beyond the range of a double',
  expected: 'numbers within the range of a double',
};

function outOf(bounds: Bounds, bound: keyof Bounds, measured: number): Fault {
  const limit = bounds[bound];
  const found = `at least ${measured} ${bound}, and may have ${limit}`;
  return { found, expected: `at most ${limit} ${bound}`, bound, limit };
}

function errorsAt(path: string, { expected }: Fault): { errors: FieldFault[] } {
  return { errors: [{ path, expected }] };
}
