/**
 * JSON as it is taken here: one value in UTF-8, no key twice in one object, no `__proto__`, bounded depth. What a lax
 * parser would quietly change (the last of two equal keys wins) is refused by name.
 */
import { cleanLine } from '@muster/envelope';

/** Deeper documents are refused before anything walks them. */
export const MAX_JSON_DEPTH = 64;

const SHOWN_KEY_LENGTH = 64;

/** Text that is no strict JSON. The message says what it lacks and never quotes a value. */
export class JsonFault extends Error {
  override readonly name = 'JsonFault';
  readonly code = 'invalid_json';
}

/** Parses a document. @param what how the message names it. @throws JsonFault */
export function parseStrictJson(document: string | Uint8Array, what = 'the body'): unknown {
  const text = textOf(document, what);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own message quotes the payload.
    throw new JsonFault(`${what} is not one JSON value`);
  }
  const fault = findFault(text, what);
  if (fault !== undefined) throw new JsonFault(fault);
  return value;
}

function textOf(document: string | Uint8Array, what: string): string {
  if (typeof document === 'string') return document;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(document);
  } catch {
    throw new JsonFault(`${what} is not UTF-8`);
  }
}

/** Walks a text that is known to be JSON. */
function findFault(text: string, what: string): string | undefined {
  const open: (Set<string> | undefined)[] = [];
  let expectsKey = false;
  for (let at = 0; at < text.length; at += 1) {
    switch (text[at]) {
      case '{':
      case '[':
        if (open.length === MAX_JSON_DEPTH) return `${what} has more than ${MAX_JSON_DEPTH} levels`;
        expectsKey = text[at] === '{';
        open.push(expectsKey ? new Set() : undefined);
        break;
      case '}':
      case ']':
        open.pop();
        expectsKey = false;
        break;
      case ',':
        expectsKey = open.at(-1) !== undefined;
        break;
      case '"': {
        const end = endOfString(text, at);
        const fault = expectsKey ? keyFault(JSON.parse(text.slice(at, end + 1)), open.at(-1)) : undefined;
        if (fault !== undefined) return fault;
        expectsKey = false;
        at = end;
      }
    }
  }
  return undefined;
}

function keyFault(key: string, seen: Set<string> | undefined): string | undefined {
  if (key === '__proto__') return 'the key __proto__ is not taken';
  if (seen?.has(key)) return `the key '${cleanLine(key, SHOWN_KEY_LENGTH)}' stands twice in one object`;
  seen?.add(key);
  return undefined;
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') return at;
  }
}
