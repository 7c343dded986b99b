/** Text from the outside as answers show it: one line, without control characters, bounded in bytes of UTF-8. */
import { cleanLine } from '@muster/envelope';

const ELLIPSIS = '…';

/** One line of at most `maxBytes` bytes; what is cut ends in an ellipsis. */
export function boundedLine(text: string, maxBytes: number): string {
  // A character has one byte at least, so what is longer than this is cut in any case.
  const line = cleanLine(text, maxBytes + 1);
  const bytes = new TextEncoder().encode(line);
  if (bytes.byteLength <= maxBytes) return line;
  const room = maxBytes - new TextEncoder().encode(ELLIPSIS).byteLength;
  // The decoder in stream mode holds back the bytes of a character that was cut in two.
  const cut = new TextDecoder().decode(bytes.subarray(0, room), { stream: true });
  return `${cut.endsWith(ELLIPSIS) ? cut.slice(0, -1) : cut}${ELLIPSIS}`;
}
