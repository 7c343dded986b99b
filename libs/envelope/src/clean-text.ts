/**
 * Text that came from outside, made inert: no control, ANSI, bidirectional or zero-width characters, no lone surrogates.
 * Everything else stays byte for byte, so that an identifier can be copied and found again.
 */

// ANSI first, as a whole: removing only its escape character would leave "[31m" in the text.
const ANSI = /[\u001b\u009b](?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])?/g;
const UNSAFE =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;
const SUSPECT = /[^\u0020-\u007e\u00a0-\u00ac\u00ae-\u024f]/;

/** Strips unsafe characters. Tabs and newlines stay: whoever renders decides about them. */
export function cleanText(text: string): string {
  if (!SUSPECT.test(text)) return text;
  return text.replace(ANSI, '').replace(UNSAFE, '').toWellFormed();
}

/** {@link cleanText} on one line, cut to `maxLength` UTF-16 units with an ellipsis when longer. */
export function cleanLine(text: string, maxLength: number): string {
  const line = cleanText(text.slice(0, maxLength * 2 + 64)).replace(/[\t\r\n]+/g, ' ');
  return line.length <= maxLength ? line : `${line.slice(0, maxLength - 1).toWellFormed()}…`;
}

/** Cleans every string of a JSON value, keys included. What is no JSON (functions, symbols) is left out. */
export function cleanJson(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value === 'bigint') return value.toString();
  if (value === null || typeof value !== 'object') return typeof value === 'boolean' ? value : null;
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') {
    return cleanJson((value as { toJSON: () => unknown }).toJSON());
  }
  if (Array.isArray(value)) return value.map(cleanJson);
  const clean: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined || typeof item === 'function' || typeof item === 'symbol') continue;
    defineKey(clean, cleanText(key), cleanJson(item));
  }
  return clean;
}

/** Sets a data key, `__proto__` included: it stays a key and never reaches the prototype. */
export function defineKey(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    target[key] = value;
  }
}
