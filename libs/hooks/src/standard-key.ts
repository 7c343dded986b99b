/**
 * The secrets of Standard Webhooks: `whsec_` and Base64 for an HMAC key, `whpk_` and Base64 for an ed25519 public key, or a
 * text of one's own. What was pasted with the version of a signature before it (`v1,whsec_...`) is read without it.
 */
import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { hmacText } from './hmac-text.ts';

/** One secret as it can check: HMAC keys (a bare text may mean two), or a public key. */
export type StandardKey =
  | { readonly kind: 'hmac'; readonly keys: readonly (string | Uint8Array)[] }
  | { readonly kind: 'public'; readonly key: KeyObject };

const PASTED_VERSION = /^v1a?,(?=wh(sec|pk)_)/;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const ED25519_BYTES = 32;
/** Shorter than this a bare text is no Base64 key of anybody's, but a word that happens to look like it. */
const LEAST_KEY_BYTES = 16;

/** Reads one secret. A text tells what is wrong with it, and never the secret. */
export function readStandardKey(secret: string): StandardKey | string {
  const text = secret.trim().replace(PASTED_VERSION, '');
  if (text === '') return 'it is empty';
  if (text.startsWith('whsk_')) return 'it is a private key (whsk_); checking takes the public one (whpk_)';
  if (text.startsWith('whpk_')) return publicKey(text.slice('whpk_'.length));
  if (text.startsWith('whsec_')) {
    const bytes = decodeBase64(text.slice('whsec_'.length));
    return bytes === undefined ? 'what follows whsec_ is no Base64' : { kind: 'hmac', keys: [bytes] };
  }
  // The libraries read a bare text as Base64, some senders mean its characters: both keys are the owner's own.
  const bytes = decodeBase64(text);
  return { kind: 'hmac', keys: bytes !== undefined && bytes.length >= LEAST_KEY_BYTES ? [bytes, text] : [text] };
}

/** The `v1` signatures that the keys make over the parts. */
export function signaturesOf(keys: readonly StandardKey[], parts: readonly (string | Uint8Array)[]): string[] {
  return keys.flatMap((key) => (key.kind === 'hmac' ? key.keys.map((one) => hmacText(one, parts, 'base64')) : []));
}

/** True when some `v1a` signature over the parts is some public key's. */
export function anyVerifies(
  keys: readonly StandardKey[],
  given: readonly string[],
  parts: readonly (string | Uint8Array)[],
) {
  const message = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
  return keys.some(
    (key) =>
      key.kind === 'public' &&
      given.some((one) => {
        const bytes = decodeBase64(one);
        return bytes !== undefined && verify(null, message, key.key, bytes);
      }),
  );
}

function publicKey(text: string): StandardKey | string {
  const bytes = decodeBase64(text);
  if (bytes?.length !== ED25519_BYTES) return 'what follows whpk_ is no Base64 of 32 bytes';
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') };
  return { kind: 'public', key: createPublicKey({ key: jwk, format: 'jwk' }) };
}

/** Base64 in its one spelling (padding may be left out), or undefined: two spellings would be two signatures. */
function decodeBase64(text: string): Buffer | undefined {
  if (!BASE64.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '') ? bytes : undefined;
}
