/**
 * Standard Webhooks: `webhook-id`, `webhook-timestamp` and `webhook-signature` over `id.timestamp.body`.
 *
 * Invariant: an id with a full stop is refused, in and out: by moving the full stops of a signed text one could otherwise
 * make another delivery of it.
 */
import { anySame } from './hmac-text.ts';
import { type HeaderReading, readHeader } from './hook-headers.ts';
import { refuse, type SignatureRequest, type SignatureResult } from './signature-check.ts';
import { anyVerifies, type StandardKey, signaturesOf } from './standard-key.ts';

const DEFAULT_TOLERANCE_MS = 5 * 60_000;
const MAX_SIGNATURES = 16;
const WHOLE_SECONDS = /^\d{1,12}$/;
const ID = /^[\x21-\x2d\x2f-\x7e]{1,256}$/;
const ENTRY = /^(v1a?),([A-Za-z0-9+/]+={0,2})$/;

/** Checks a delivery with keys that {@link readStandardKey} read. */
export function verifyStandard(request: SignatureRequest, keys: readonly StandardKey[]): SignatureResult {
  const [id, timestamp, signature] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    readHeader(request.headers, name),
  ) as [HeaderReading, HeaderReading, HeaderReading];
  if (id.is === 'twice' || timestamp.is === 'twice' || signature.is === 'twice') {
    return refuse('signature_malformed', 'webhook-id, webhook-timestamp and webhook-signature must come once each');
  }
  if (signature.is === 'absent') return refuse('signature_missing', 'the header webhook-signature is missing');
  if (timestamp.is === 'absent') return refuse('timestamp_missing', 'the header webhook-timestamp is missing');
  if (id.is === 'absent') return refuse('signature_malformed', 'the header webhook-id is missing');
  if (!ID.test(id.value)) {
    return refuse('signature_malformed', 'webhook-id must be up to 256 printable characters without a full stop');
  }
  if (!WHOLE_SECONDS.test(timestamp.value)) {
    return refuse('signature_malformed', 'webhook-timestamp must be whole seconds since 1970');
  }
  const signedAt = Number(timestamp.value) * 1000;
  const outside = windowFault(signedAt, request);
  if (outside !== undefined) return outside;
  return checkEntries(request, keys, { id: id.value, timestamp: timestamp.value, signature: signature.value });
}

function windowFault(signedAtMs: number, request: SignatureRequest): SignatureResult | undefined {
  const tolerance = request.toleranceMs ?? DEFAULT_TOLERANCE_MS;
  const age = request.now.getTime() - signedAtMs;
  if (Math.abs(age) <= tolerance) return undefined;
  const seconds = Math.round(tolerance / 1000);
  const side = age > 0 ? 'older' : 'newer';
  return refuse('timestamp_outside_window', `webhook-timestamp is more than ${seconds} s ${side} than this clock`);
}

function checkEntries(
  request: SignatureRequest,
  keys: readonly StandardKey[],
  sent: { readonly id: string; readonly timestamp: string; readonly signature: string },
): SignatureResult {
  const entries = sent.signature.split(' ').filter((entry) => entry !== '');
  const known = entries.flatMap((entry) => {
    const match = ENTRY.exec(entry);
    return match === null ? [] : [{ version: match[1]!, value: match[2]! }];
  });
  if (known.length === 0 || entries.length > MAX_SIGNATURES) {
    return refuse('signature_malformed', 'webhook-signature must hold 1 to 16 entries such as v1,BASE64');
  }
  const parts = [`${sent.id}.${sent.timestamp}.`, request.rawBody];
  const of = (version: string) => known.filter((entry) => entry.version === version).map((entry) => entry.value);
  const byHmac = anySame(of('v1'), signaturesOf(keys, parts));
  if (byHmac || anyVerifies(keys, of('v1a'), parts)) {
    return { ok: true, deliveryId: sent.id, signedAt: new Date(Number(sent.timestamp) * 1000).toISOString() };
  }
  return refuse('signature_invalid', 'no signature fits the body under any of the secrets');
}

/** What is signed for an outbound notice. */
export interface StandardMessage {
  /** The delivery's id: the same for every attempt. Up to 256 printable characters, no full stop. */
  readonly id: string;
  /** The instant of this attempt. */
  readonly sentAt: Date;
  /** The body's bytes as they go out. */
  readonly body: string | Uint8Array;
  /** `whsec_` secrets or texts of one's own; during rotation all that the receiver may hold. */
  readonly keys: readonly StandardKey[];
}

/** The three headers of an outbound notice, with one `v1` signature a secret. @throws RangeError for an id with a full stop. */
export function standardHeaders(message: StandardMessage): Record<string, string> {
  if (!ID.test(message.id)) throw new RangeError('a delivery id is up to 256 printable characters without a full stop');
  const timestamp = String(Math.floor(message.sentAt.getTime() / 1000));
  // A bare text is one key when one signs: as the libraries read it, so that they can check it.
  const first = message.keys.map((key) => (key.kind === 'hmac' ? { ...key, keys: key.keys.slice(0, 1) } : key));
  const signatures = signaturesOf(first, [`${message.id}.${timestamp}.`, message.body]);
  return {
    'webhook-id': message.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.map((signature) => `v1,${signature}`).join(' '),
  };
}
