/**
 * A raw body as JSON, or why it is none. The bounds are checked before anything is built: 1 MiB, 32 levels.
 *
 * Invariant: the reason names a byte's place at most, never what stands there.
 */
import type { HookFormat, Unreadable, UnreadableCode } from './delivery.ts';
import { type HookHeaders, headerValue } from './hook-headers.ts';

export const MAX_BODY_BYTES = 1024 * 1024;
export const MAX_DEPTH = 32;

/** More digits than this a number cannot hold. */
const LONG_NUMBER = /\d{16}/;
const FORM = /^[A-Za-z0-9_.%+-]{1,64}=[^\s{}[\]"]*$/;

/** The body's JSON value, or why there is none. */
export type JsonReading = { readonly value: unknown } | { readonly fault: Unreadable };

/** Reads a raw body as JSON; GitHub's form-encoded one (`payload=`), too. */
export function readBodyJson(format: HookFormat, headers: HookHeaders, rawBody: Uint8Array): JsonReading {
  if (rawBody.length > MAX_BODY_BYTES) {
    return fault('body_too_large', `the body has ${rawBody.length} bytes; ${MAX_BODY_BYTES} are the most that is read`);
  }
  if (rawBody.length === 0) return fault('body_empty', 'the body is empty; a delivery is a JSON document');
  const encoding = headerValue(headers, 'content-encoding')?.toLowerCase();
  if ((encoding !== undefined && encoding !== 'identity') || (rawBody[0] === 0x1f && rawBody[1] === 0x8b)) {
    return fault('body_encoded', 'the body is compressed; set the sender to send it as it is');
  }
  const text = decode(rawBody);
  if (text === undefined) return fault('body_not_text', 'the body is not UTF-8 text');
  return text.trim() === ''
    ? fault('body_empty', 'the body is blank; a delivery is a JSON document')
    : readText(format, headers, text);
}

function readText(format: HookFormat, headers: HookHeaders, text: string): JsonReading {
  const type = headerValue(headers, 'content-type')?.toLowerCase() ?? '';
  const asForm = type.startsWith('application/x-www-form-urlencoded');
  if ((asForm || FORM.test(text.trim())) && !/^\s*[[{]/.test(text)) {
    const payload = format === 'github' ? new URLSearchParams(text.trim()).get('payload') : null;
    if (payload !== null) return parse(payload);
    return fault('body_form_encoded', 'the body is a form; set the content type at the sender to application/json');
  }
  if (type.startsWith('multipart/')) {
    return fault('body_form_encoded', 'the body is a multipart form; set the sender to send application/json');
  }
  return parse(text);
}

function parse(text: string): JsonReading {
  const depth = deepest(text);
  if (depth > MAX_DEPTH) {
    return fault('body_too_deep', `the body is nested ${depth} levels deep; ${MAX_DEPTH} are the most that is read`);
  }
  try {
    return { value: LONG_NUMBER.test(text) ? JSON.parse(text, keepLongNumber) : JSON.parse(text) };
  } catch (error) {
    return { fault: parseFault(text, error) };
  }
}

/** A whole number that JavaScript would round stays the text it was: two ids must not become one. */
function keepLongNumber(this: unknown, _key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const rounded = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
  const source = context?.source;
  return rounded && source !== undefined && /^-?\d{1,40}$/.test(source) ? source : value;
}

function parseFault(text: string, error: unknown): Unreadable {
  const message = messageOf(error);
  if (/end of JSON input|Unterminated|end of input/i.test(message) || endsEarly(message, text)) {
    return { code: 'body_cut_off', detail: 'the JSON ends in the middle; the sender or a proxy cut it off' };
  }
  if (text.trimStart().startsWith('<')) {
    return { code: 'body_not_json', detail: 'the body is HTML or XML, not JSON; check the URL and the content type' };
  }
  const at = /position (\d+)/.exec(message)?.[1];
  const place = at === undefined ? '' : `, from character ${Number(at) + 1} on`;
  return {
    code: 'body_not_json',
    detail: `the body is no JSON${place}; quotation marks and line ends in texts must be escaped by the sender`,
  };
}

/** The parser's own words; a message that shows the text instead of a place is left aside. */
function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  return message.endsWith('is not valid JSON') ? '' : message;
}

function endsEarly(message: string, text: string): boolean {
  const at = /position (\d+)/.exec(message)?.[1];
  return at !== undefined && Number(at) >= text.length;
}

/** How deep brackets go, outside texts. Counted before parsing: a parser given 500,000 of them has other worries. */
function deepest(text: string): number {
  let depth = 0;
  let most = 0;
  let inText = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (inText) {
      if (code === 0x5c) at += 1;
      else if (code === 0x22) inText = false;
    } else if (code === 0x22) inText = true;
    else if (code === 0x5b || code === 0x7b) {
      depth += 1;
      if (depth > most) most = depth;
    } else if (code === 0x5d || code === 0x7d) depth -= 1;
  }
  return most;
}

function decode(rawBody: Uint8Array): string | undefined {
  try {
    // A byte order mark is dropped; a NUL is no text that any sender means.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(rawBody);
    return text.includes('\u0000') ? undefined : text;
  } catch {
    return undefined;
  }
}

function fault(code: UnreadableCode, detail: string): { readonly fault: Unreadable } {
  return { fault: { code, detail } };
}
