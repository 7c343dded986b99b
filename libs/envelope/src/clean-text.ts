/**
 * Text that came from outside, made inert: no control, ANSI, bidirectional or invisible characters, no lone surrogates.
 * Everything else stays byte for byte, so that an identifier can be copied and found again.
 *
 * Invariant: cleaning twice is cleaning once.
 */

// ANSI first, as a whole: removing only its escape character would leave "[31m" in the text. An operating system command
// goes only when it is terminated: an open one would swallow the rest of the text.
const ANSI = /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[@-Z\\-_]?/g;
// Default-ignorable code points: zero-width, bidirectional, variation selectors, tags, fillers.
const UNSAFE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ufff9-\ufffb\p{Default_Ignorable_Code_Point}]/gu;
const SUSPECT = /[^\u0020-\u007e\u00a0-\u00ac\u00ae-\u024f]/;
/** Deeper than this nothing of ours goes, and a cycle would never end. */
const MAX_DEPTH = 64;

/** Strips unsafe characters. Tabs and newlines stay: whoever renders decides about them. */
export function cleanText(text: string): string {
  if (!SUSPECT.test(text)) return text;
  return text.replace(ANSI, '').replace(UNSAFE, '').toWellFormed();
}

/** {@link cleanText} on one line, cut to `maxLength` UTF-16 units with an ellipsis when longer. */
export function cleanLine(text: string, maxLength: number): string {
  const line = cleanText(text.slice(0, maxLength * 2 + 64)).replace(/[\t\r\n\u2028\u2029]+/g, ' ');
  return line.length <= maxLength ? line : `${line.slice(0, maxLength - 1).toWellFormed()}…`;
}

/**
 * Cleans every string of a JSON value, keys included. What is no JSON (functions, symbols) is left out; what lies deeper
 * than 64 levels becomes null, so that a value that contains itself comes to an end.
 */
export function cleanJson(value: unknown): unknown {
  return cleanValue(value, 0);
}

/** Sets a data key, `__proto__` included: it stays a key and never reaches the prototype. */
export function defineKey(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    target[key] = value;
  }
}

function cleanValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value === 'boolean') return value;
  if (typeof value === 'bigint') return value.toString();
  if (value === null || typeof value !== 'object' || depth >= MAX_DEPTH) return null;
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') {
    return cleanValue((value as { toJSON: () => unknown }).toJSON(), depth + 1);
  }
  if (Array.isArray(value)) return value.map((item) => cleanValue(item, depth + 1));
  const clean: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined || typeof item === 'function' || typeof item === 'symbol') continue;
    defineKey(clean, cleanText(key), cleanValue(item, depth + 1));
  }
  return clean;
}
