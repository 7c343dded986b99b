/**
 * The senders whose signature covers the body alone: GitHub, PagerDuty and Sentry; and the bearer token, which covers
 * nothing but who speaks. Their ids and times are unsigned, so none is given back.
 */
import { anySame, hmacText } from './hmac-text.ts';
import { readHeader } from './hook-headers.ts';
import { refuse, type SignatureRequest, type SignatureResult } from './signature-check.ts';

const HEX = /^[0-9a-f]{64}$/;
const MAX_SIGNATURES = 16;

interface BodyScheme {
  readonly header: string;
  /** The hexadecimal signatures in the header's value, or undefined when it is not of that form. */
  readonly read: (value: string) => readonly string[] | undefined;
  readonly form: string;
}

const BODY_SCHEMES = {
  github: {
    header: 'x-hub-signature-256',
    read: (value) => prefixed([value], 'sha256='),
    form: 'sha256= and 64 small hexadecimal digits',
  },
  pagerduty_v3: {
    header: 'x-pagerduty-signature',
    // Other versions may stand beside v1 one day; they are not ours to judge.
    read: (value) =>
      prefixed(
        value.split(/ *, */).filter((entry) => entry.startsWith('v1=')),
        'v1=',
      ),
    form: '1 to 16 entries of v1= and 64 small hexadecimal digits, divided by commas',
  },
  sentry: {
    header: 'sentry-hook-signature',
    read: (value) => prefixed([value], ''),
    form: '64 small hexadecimal digits',
  },
} as const satisfies Record<string, BodyScheme>;

/** Checks a signature over the whole body. */
export function verifyBody(scheme: keyof typeof BODY_SCHEMES, request: SignatureRequest): SignatureResult {
  const { header, read, form } = BODY_SCHEMES[scheme];
  const sent = readHeader(request.headers, header);
  if (sent.is === 'twice') return refuse('signature_malformed', `the header ${header} came more than once`);
  if (sent.is === 'absent') return refuse('signature_missing', missing(header, request));
  const given = read(sent.value);
  if (given === undefined) return refuse('signature_malformed', `the header ${header} must hold ${form}`);
  const expected = request.secrets.map((secret) => hmacText(secret, [request.rawBody], 'hex'));
  if (anySame(given, expected)) return { ok: true };
  return refuse('signature_invalid', `the header ${header} does not fit the body under any of the secrets`);
}

/** Checks `Authorization: Bearer TOKEN`. */
export function verifyBearer(request: SignatureRequest): SignatureResult {
  const sent = readHeader(request.headers, 'authorization');
  if (sent.is === 'twice') return refuse('signature_malformed', 'the header authorization came more than once');
  if (sent.is === 'absent') return refuse('signature_missing', 'the header authorization is missing');
  const token = /^Bearer +(\S+)$/i.exec(sent.value)?.[1];
  if (token === undefined) return refuse('signature_malformed', 'the header authorization must be Bearer and a token');
  if (anySame([token], request.secrets)) return { ok: true };
  return refuse('signature_invalid', 'the bearer token is none of the secrets');
}

function prefixed(entries: readonly string[], prefix: string): readonly string[] | undefined {
  const bare = entries.map((entry) => (entry.startsWith(prefix) ? entry.slice(prefix.length) : ''));
  const fits = bare.length > 0 && bare.length <= MAX_SIGNATURES && bare.every((entry) => HEX.test(entry));
  return fits ? bare : undefined;
}

function missing(header: string, request: SignatureRequest): string {
  const old = header === 'x-hub-signature-256' && readHeader(request.headers, 'x-hub-signature').is !== 'absent';
  return old
    ? 'only X-Hub-Signature (SHA-1) came; X-Hub-Signature-256 is checked'
    : `the header ${header} is missing; set a secret at the sender`;
}
