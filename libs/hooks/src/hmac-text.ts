/**
 * Signatures compared as text, so that each has one spelling only, and in a time that does not depend on where they differ.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** The HMAC-SHA256 of the parts, one after another. */
export function hmacText(key: string | Uint8Array, parts: readonly (string | Uint8Array)[], as: 'hex' | 'base64') {
  const hmac = createHmac('sha256', key);
  for (const part of parts) hmac.update(part);
  return hmac.digest(as);
}

/** True when the texts are equal. Hashed first: equal lengths are what the comparison needs. */
export function sameText(a: string, b: string): boolean {
  return timingSafeEqual(createHash('sha256').update(a).digest(), createHash('sha256').update(b).digest());
}

/** True when some given text equals some expected one. Compares every pair: which one fitted cannot be timed. */
export function anySame(given: readonly string[], expected: readonly string[]): boolean {
  let found = false;
  for (const one of given) for (const other of expected) found = sameText(one, other) || found;
  return found;
}
