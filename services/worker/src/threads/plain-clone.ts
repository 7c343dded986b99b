/**
 * A quicker `structuredClone` for small plain values.
 *
 * The substrate clones some seventy small values a subject (each write, each commit, each snapshot), and Node's own clone
 * serialises and reads back each of them: a third of what a small chart costs. A chart thread therefore puts this in its
 * place. What it gives is what Node's would: everything that is not a small tree of plain objects, arrays and primitives
 * goes to Node's, whole.
 */
import { types } from 'node:util';

type Clone = typeof structuredClone;

/** More objects than this are Node's: there its fixed cost is small, and here a tree is told from a graph by looking back. */
const MAX_OBJECTS = 40;

/** Makes the clone, with `native` for what it leaves. */
export function plainClone(native: Clone): Clone {
  return (value, options) => {
    if (options !== undefined) return native(value, options);
    if (value === null || (typeof value !== 'object' && typeof value !== 'function' && typeof value !== 'symbol')) {
      return value;
    }
    const seen: unknown[] = [];
    const copy = copyPlain(value, seen);
    return copy === LEFT ? native(value) : (copy as typeof value);
  };
}

/** Not a value that is copied here. */
const LEFT = Symbol('left to the native clone');

function copyPlain(value: unknown, seen: unknown[]): unknown {
  if (typeof value === 'function' || typeof value === 'symbol') return LEFT;
  if (value === null || typeof value !== 'object') return value;
  // A value that is met twice stays one value in a clone, and a proxy cannot be cloned: both are told by the native one.
  if (seen.length === MAX_OBJECTS || seen.includes(value) || types.isProxy(value)) return LEFT;
  seen.push(value);
  const prototype = Object.getPrototypeOf(value);
  if (prototype === Array.prototype) return copyArray(value as unknown[], seen);
  return prototype === Object.prototype ? copyObject(value as Record<string, unknown>, seen) : LEFT;
}

function copyArray(array: readonly unknown[], seen: unknown[]): unknown {
  const { length } = array;
  // Holes, and properties beside the elements.
  if (Object.keys(array).length !== length) return LEFT;
  const copy: unknown[] = [];
  for (let index = 0; index < length; index++) {
    const item = copyPlain(array[index], seen);
    if (item === LEFT) return LEFT;
    copy.push(item);
  }
  return copy;
}

function copyObject(object: Readonly<Record<string, unknown>>, seen: unknown[]): unknown {
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(object)) {
    if (key === '__proto__') return LEFT;
    const item = copyPlain(object[key], seen);
    if (item === LEFT) return LEFT;
    copy[key] = item;
  }
  return copy;
}
