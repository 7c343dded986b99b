/**
 * Payloads as bytes and back.
 *
 * Invariant: what comes back is what was put. A value for which that would not hold (a Map, NaN, a broken string) is
 * refused at the put.
 */
import { ArtifactInvalidError } from './artifact-errors.ts';

/** How a payload became bytes. */
export type PayloadEncoding = 'text' | 'bytes' | 'json';

export interface EncodedPayload {
  readonly encoding: PayloadEncoding;
  readonly bytes: Uint8Array;
}

/** Turns what a caller put into bytes. @throws ArtifactInvalidError */
export function encodePayload(data: unknown): EncodedPayload {
  if (data instanceof Uint8Array) return { encoding: 'bytes', bytes: data };
  if (typeof data === 'string') {
    if (!data.isWellFormed()) throw new ArtifactInvalidError('data is a string that is not well-formed Unicode');
    return { encoding: 'text', bytes: new TextEncoder().encode(data) };
  }
  return { encoding: 'json', bytes: new TextEncoder().encode(encodeJson(data)) };
}

/** Turns bytes back into what was put. @throws SyntaxError or TypeError when the bytes are not what the encoding says */
export function decodePayload(encoding: PayloadEncoding, bytes: Uint8Array): unknown {
  if (encoding === 'bytes') return bytes;
  // ignoreBOM keeps a leading byte order mark in the string, where it was.
  const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  return encoding === 'text' ? text : JSON.parse(text);
}

function encodeJson(data: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(data, refuseLossyValue);
  } catch (error) {
    if (error instanceof ArtifactInvalidError) throw error;
    throw new ArtifactInvalidError('data is neither text nor bytes nor JSON: it cannot be serialised', {
      cause: error,
    });
  }
  if (text === undefined) throw new ArtifactInvalidError(`data is neither text nor bytes nor JSON: ${typeof data}`);
  return text;
}

/** JSON.stringify turns these into null, {} or nothing; the put says so instead. */
function refuseLossyValue(this: unknown, _key: string, value: unknown): unknown {
  if (typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint')
    throw notJson(typeof value);
  if (typeof value === 'number' && !Number.isFinite(value)) throw notJson(String(value));
  if (value === undefined && Array.isArray(this)) throw notJson('undefined in an array');
  if (typeof value === 'object' && value !== null && holdsMoreThanJson(value)) throw notJson(value.constructor.name);
  return value;
}

/** An instance of a class whose content is not in its properties, such as Map, Error or a stream. */
function holdsMoreThanJson(value: object): boolean {
  if (Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  if (prototype === null || Object.getPrototypeOf(prototype) === null) return false;
  if (value instanceof Number || value instanceof String || value instanceof Boolean) return false;
  return ArrayBuffer.isView(value) || Object.keys(value).length === 0;
}

function notJson(what: string): ArtifactInvalidError {
  return new ArtifactInvalidError(`data holds what JSON cannot carry: ${what}`);
}
