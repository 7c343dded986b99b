/**
 * A stored delivery as it may be shown.
 *
 * Invariants: a header is shown only when its name is known to hold no secret; what could not be read as JSON is not shown
 * at all, because nothing tells where a secret stands in it.
 */
import { readBodyJson } from './body-json.ts';
import type { HookFormat, HookJson } from './delivery.ts';
import { type HookHeaders, headerPairs } from './hook-headers.ts';
import { inertFacts, inertText, Losses, MAX_KEY } from './inert-json.ts';

export const REDACTED = '[redacted]';

/** What the adapters read is among them, so that a delivery is read again from its redacted headers. */
const SHOWN_HEADERS = new Set([
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'request-id',
  'sentry-hook-resource',
  'sentry-hook-timestamp',
  'user-agent',
  'webhook-id',
  'webhook-timestamp',
  'x-github-delivery',
  'x-github-event',
  'x-github-hook-id',
]);
const SECRET_KEY =
  /pass(?:word|wd|phrase)|secret|token|api[-_ ]?key|access[-_ ]?key|private[-_ ]?key|signing[-_ ]?key|authori[sz]ation|cookie|credential|signature|session[-_ ]?id|^code$|^dsn$|^jwt$/i;
/** Names and counts that only sound like secrets: GitHub's secret scanning, for one. */
const PLAIN_KEY = /^secret_(?:type|scanning)|_display_name$|_url$/i;
const URL_USER = /\b([a-z][a-z0-9+.-]{1,15}:\/\/)[^\s/?#@"'<>]+@/gi;
// Bounded on both sides of the word: without a bound a text of nothing but such words takes seconds.
const URL_SECRET =
  /([?&;](?:[\w.-]{0,32}(?:token|secret|password|passwd|signature|credential|api[-_]?key)[\w.-]{0,32}|key|sig|auth|code)=)[^&;#\s"'<>]+/gi;
const AUTH_TEXT = /\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi;
const KNOWN_TOKEN =
  /\b(?:whsec_|whsk_|gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|sk_live_|rk_live_|glsa_|AKIA|eyJ)[A-Za-z0-9+/=._-]{12,}/g;

/** A delivery for showing. */
export interface ShownDelivery {
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** The body's JSON without secrets; null with `hidden`. */
  readonly body: HookJson;
  /** Why no body is shown. */
  readonly hidden?: string;
  readonly bodyBytes: number;
}

/** Makes a stored delivery fit for showing. */
export function redactBody(
  format: HookFormat,
  delivery: { readonly headers: HookHeaders; readonly rawBody: Uint8Array },
): ShownDelivery {
  const headers = redactHeaders(delivery.headers);
  const bodyBytes = delivery.rawBody.length;
  const json = readBodyJson(format, delivery.headers, delivery.rawBody);
  if ('fault' in json) return { headers, body: null, hidden: json.fault.detail, bodyBytes };
  // In an object of its own: a body may be a list or a bare text.
  const inert = inertFacts({ body: json.value }, new Losses());
  return { headers, body: redactJson(inert.body ?? null), bodyBytes };
}

/** Headers with small names, the values of unknown ones redacted. What came twice stays a list of both. */
export function redactHeaders(headers: HookHeaders): Record<string, string | readonly string[]> {
  const shown = new Map<string, readonly string[]>();
  for (const [name, value] of headerPairs(headers)) {
    const key = inertText(name.toLowerCase(), new Losses(), MAX_KEY);
    if (key === '__proto__') continue;
    const before = shown.get(key) ?? [];
    shown.set(key, SHOWN_HEADERS.has(key) ? [...before, inertText(value, new Losses())] : [REDACTED]);
  }
  return Object.fromEntries([...shown].map(([key, values]) => [key, values.length === 1 ? values[0]! : values]));
}

function redactJson(value: HookJson): HookJson {
  if (typeof value === 'string') return redactText(value);
  if (value === null || typeof value !== 'object') return value;
  if (isList(value)) return redactList(value);
  const named = value.name ?? value.key;
  const namesSecret = typeof named === 'string' && isSecret(named);
  const object: Record<string, HookJson> = {};
  for (const [key, item] of Object.entries(value)) {
    const hides = isSecret(key) || (namesSecret && key === 'value');
    object[key] = hides ? hide(item) : redactJson(item);
  }
  return object;
}

/** Pairs of a name and a value, as Sentry writes headers and tags, are lists of two. */
function redactList(list: readonly HookJson[]): HookJson {
  const [name, value] = list;
  if (list.length === 2 && typeof name === 'string' && isSecret(name)) return [name, hide(value ?? null)];
  return list.map(redactJson);
}

function hide(value: HookJson): HookJson {
  return value === null || typeof value === 'boolean' ? value : REDACTED;
}

function isSecret(key: string): boolean {
  return SECRET_KEY.test(key) && !PLAIN_KEY.test(key);
}

function redactText(text: string): string {
  return text
    .replace(URL_USER, `$1${REDACTED}@`)
    .replace(URL_SECRET, `$1${REDACTED}`)
    .replace(AUTH_TEXT, `$1 ${REDACTED}`)
    .replace(KNOWN_TOKEN, REDACTED);
}

function isList(value: HookJson): value is readonly HookJson[] {
  return Array.isArray(value);
}
