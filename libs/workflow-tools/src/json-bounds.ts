/** Bounds of documents (workflow-tools contract), and the canonical form that is digested. */
import { canonicalJson } from '@muster/envelope';

/** What an input or an answer may be. */
export const INPUT_BOUNDS = Object.freeze({ bytes: 256 * 1024, depth: 32, properties: 4_096 });

/** A bound that a document is over. */
export interface BoundFault {
  readonly bound: keyof typeof INPUT_BOUNDS | 'number';
  readonly message: string;
}

/** A document in its canonical form: sorted keys. */
export interface CanonicalDocument {
  readonly canonical: string;
  /** SHA-256 of it, hex. */
  readonly digest: string;
}

/** What a document is over, or undefined. It is walked without recursion. */
export function boundFault(document: Readonly<Record<string, unknown>>): BoundFault | undefined {
  const open: { value: unknown; depth: number }[] = [{ value: document, depth: 1 }];
  let properties = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next;
    // JSON.parse reads 1e999 as Infinity, which JSON cannot write again.
    if (typeof value === 'number' && !Number.isFinite(value)) {
      return { bound: 'number', message: 'it has a number beyond the range of a double' };
    }
    if (value === null || typeof value !== 'object') continue;
    if (depth > INPUT_BOUNDS.depth) return over('depth', depth);
    const items = Object.values(value);
    if (!Array.isArray(value)) properties += items.length;
    if (properties > INPUT_BOUNDS.properties) return over('properties', properties);
    for (const item of items) open.push({ value: item, depth: depth + 1 });
  }
  const bytes = new TextEncoder().encode(canonicalJson(document)).byteLength;
  return bytes > INPUT_BOUNDS.bytes ? over('bytes', bytes) : undefined;
}

/** The canonical text and its digest. */
export async function canonicalDocument(document: Readonly<Record<string, unknown>>): Promise<CanonicalDocument> {
  const canonical = canonicalJson(document);
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(canonical));
  const digest = [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return { canonical, digest };
}

function over(bound: keyof typeof INPUT_BOUNDS, measured: number): BoundFault {
  return { bound, message: `it has at least ${measured} ${bound}, and may have ${INPUT_BOUNDS[bound]}` };
}
