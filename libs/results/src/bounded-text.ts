/**
 * Text as the store takes it: history has bounded text without control characters (workflow-tools contract), and
 * PostgreSQL stores neither NUL nor half of a surrogate pair.
 */

const ANSI_SEQUENCES = /\u001b\[[0-?]*[ -/]*[@-~]/g;
const LINE_BREAKS = /[\t\n\v\f\r\u0085\u2028\u2029]+/g;
/** Control, zero-width and bidirectional characters: nobody sees them, and they change what is seen. */
const INVISIBLE = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** One printable line of at most `maxBytes` bytes of UTF-8; what is cut ends in an ellipsis. */
export function boundedText(text: string, maxBytes: number): string {
  const line = text
    .toWellFormed()
    .replaceAll(ANSI_SEQUENCES, '')
    .replaceAll(LINE_BREAKS, ' ')
    .replaceAll(INVISIBLE, '')
    .trim();
  if (Buffer.byteLength(line) <= maxBytes) return line;
  const cut = Buffer.from(line).subarray(0, maxBytes - Buffer.byteLength('…'));
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
