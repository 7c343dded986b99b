/**
 * One range of a representation (RFC 9110, section 14). What is malformed, of another unit or asks for several ranges is
 * ignored, as the RFC allows, and the whole is sent.
 */

/** `start` inclusive, `end` exclusive. */
export interface SatisfiableRange {
  readonly start: number;
  readonly end: number;
}

/** @returns the range; undefined for the whole; `unsatisfiable` when it lies outside */
export function parseRange(header: string | undefined, length: number): SatisfiableRange | 'unsatisfiable' | undefined {
  const [, first, last] = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(header?.trim() ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  if (first === '') {
    const suffix = Number(last);
    return suffix === 0 || length === 0 ? 'unsatisfiable' : { start: Math.max(0, length - suffix), end: length };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return undefined;
  if (start >= length) return 'unsatisfiable';
  return { start, end: last === '' ? length : Math.min(Number(last) + 1, length) };
}
