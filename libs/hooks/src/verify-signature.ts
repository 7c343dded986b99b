/**
 * Who sent a delivery, proven: one door for every scheme, with every secret that is good at present.
 *
 * Invariants: a secret that is blank or no key never checks anything (an empty key would be anybody's); one bad secret does
 * not keep the others from checking; nothing here throws for what a sender sent.
 */
import { verifyBearer, verifyBody } from './body-signature.ts';
import {
  HookSecretError,
  type SignatureRequest,
  type SignatureResult,
  type SignatureScheme,
} from './signature-check.ts';
import { readStandardKey, type StandardKey } from './standard-key.ts';
import { standardHeaders, verifyStandard } from './standard-signature.ts';

/**
 * Checks a delivery's signature or token.
 * @throws HookSecretError when none of the secrets can check anything.
 */
export function verifySignature(scheme: SignatureScheme, request: SignatureRequest): SignatureResult {
  const secrets = usableSecrets(scheme, request.secrets);
  if (scheme === 'standard_webhooks') return verifyStandard(request, keysOf(secrets));
  if (scheme === 'bearer') return verifyBearer({ ...request, secrets });
  return verifyBody(scheme, { ...request, secrets });
}

/** What is wrong with a secret, without the secret; undefined when it can check. For a look at the start. */
export function secretFault(scheme: SignatureScheme, secret: string): string | undefined {
  if (secret.trim() === '') return 'it is empty';
  if (scheme === 'bearer' && /\s/.test(secret)) return 'a bearer token has no spaces or line ends';
  if (scheme !== 'standard_webhooks') return undefined;
  const key = readStandardKey(secret);
  return typeof key === 'string' ? key : undefined;
}

/**
 * Signs an outbound notice by Standard Webhooks and gives its three headers; one signature a secret, so that the receiver
 * may rotate.
 * @throws HookSecretError when a secret cannot sign, RangeError for an id with a full stop.
 */
export function signStandard(message: {
  readonly id: string;
  readonly sentAt: Date;
  readonly body: string | Uint8Array;
  readonly secrets: readonly string[];
}): Record<string, string> {
  const { secrets, ...rest } = message;
  const keys = secrets.map((secret, at) => {
    const key = readStandardKey(secret);
    if (typeof key !== 'string' && key.kind === 'hmac') return key;
    const why = typeof key === 'string' ? key : 'a public key cannot sign';
    throw new HookSecretError(`secret ${at + 1} of ${secrets.length} cannot sign: ${why}`);
  });
  if (keys.length === 0) throw new HookSecretError('there is no secret to sign with');
  return standardHeaders({ ...rest, keys });
}

function usableSecrets(scheme: SignatureScheme, secrets: readonly string[]): readonly string[] {
  const usable = secrets.filter((secret) => secretFault(scheme, secret) === undefined);
  if (usable.length > 0) return usable;
  const why = secrets.map((secret, at) => `secret ${at + 1}: ${secretFault(scheme, secret)}`);
  throw new HookSecretError(`no secret can check ${scheme}: ${why.length === 0 ? 'there is none' : why.join('; ')}`);
}

function keysOf(secrets: readonly string[]): StandardKey[] {
  return secrets.map(readStandardKey).filter((key) => typeof key !== 'string');
}
