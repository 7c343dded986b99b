/**
 * Text as the store takes it: history has bounded text without control characters (workflow-tools contract), and
 * PostgreSQL stores neither NUL nor half of a surrogate pair.
 */

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+/g;

/** One printable line of at most `maxBytes` bytes of UTF-8; runs of control characters become one space. */
export function boundedText(text: string, maxBytes: number): string {
  const line = text.toWellFormed().replaceAll(UNPRINTABLE, ' ').trim();
  if (Buffer.byteLength(line) <= maxBytes) return line;
  const cut = Buffer.from(line).subarray(0, maxBytes - 3);
  // The decoder in stream mode holds back the bytes of a character that was cut in two.
  return `${new TextDecoder().decode(cut, { stream: true })}…`;
}

/**
 * The text that PostgreSQL can hold: NUL and lone surrogates become U+FFFD, everything else stays byte for byte.
 * Apply it to keys before looking for duplicates: two keys may differ in nothing else.
 */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}
