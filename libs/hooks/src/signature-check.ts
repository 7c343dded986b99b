/**
 * What a check of a signature is given and what it says.
 *
 * Invariant: no result and no error tells a secret or a computed signature.
 */
import type { HookHeaders } from './hook-headers.ts';

/** How a sender proves itself. */
export const SIGNATURE_SCHEMES = Object.freeze([
  'standard_webhooks',
  'github',
  'pagerduty_v3',
  'sentry',
  'bearer',
] as const);

export type SignatureScheme = (typeof SIGNATURE_SCHEMES)[number];

/** What is checked, and with what. */
export interface SignatureRequest {
  /** Best as Node's flat list: only there a header that came twice is seen. */
  readonly headers: HookHeaders;
  /** The body's bytes as they came: one space more is another body. */
  readonly rawBody: Uint8Array;
  /** Every secret that is good at present, in any order: two or more during rotation. */
  readonly secrets: readonly string[];
  readonly now: Date;
  /** How far a signed time may lie from `now`, both ways. Default five minutes. */
  readonly toleranceMs?: number | undefined;
}

export type SignatureFault =
  | 'signature_missing'
  | 'signature_invalid'
  | 'signature_malformed'
  | 'timestamp_missing'
  | 'timestamp_outside_window';

/** The delivery's id and time are given only where the signature covers them. */
export type SignatureResult =
  | { readonly ok: true; readonly deliveryId?: string; readonly signedAt?: string }
  | { readonly ok: false; readonly code: SignatureFault; readonly detail: string };

/** None of a hook's secrets can check anything: the operator's fault, not the sender's. */
export class HookSecretError extends Error {
  override readonly name = 'HookSecretError';
  readonly code = 'hook_secret_unusable';
}

export function refuse(code: SignatureFault, detail: string): SignatureResult {
  return { ok: false, code, detail };
}
