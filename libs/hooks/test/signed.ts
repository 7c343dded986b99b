/** Deliveries signed for a test, by code that is not the one under test. */
import { createHmac } from 'node:crypto';
import type { SignatureRequest, SignatureScheme } from '../src/index.ts';

export const NOW = new Date('2026-03-01T09:00:00Z');
export const BODY = Buffer.from('{"type":"disk.full","data":{"host":"db-7"}}');
export const SECRET = 'a secret of the operator';
export const STANDARD_SECRET = `whsec_${Buffer.from('0123456789abcdef01234567').toString('base64')}`;

export function hex(secret: string, body: Uint8Array): string {
  return createHmac('sha256', secret).update(body).digest('hex');
}

export function standardHeadersFor(
  id: string,
  at: Date,
  body: Uint8Array,
  key: string | Uint8Array = Buffer.from('0123456789abcdef01234567'),
): Record<string, string> {
  const seconds = String(Math.floor(at.getTime() / 1000));
  const mac = createHmac('sha256', key).update(`${id}.${seconds}.`).update(body).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': `v1,${mac}` };
}

/** The header, or headers, by which each scheme's sender signs the body. */
export const SIGNED: Readonly<Record<SignatureScheme, (body: Uint8Array) => Record<string, string>>> = {
  standard_webhooks: (body) => standardHeadersFor('msg_1', NOW, body),
  github: (body) => ({ 'X-Hub-Signature-256': `sha256=${hex(SECRET, body)}` }),
  pagerduty_v3: (body) => ({ 'X-PagerDuty-Signature': `v1=${hex(SECRET, body)}` }),
  sentry: (body) => ({ 'Sentry-Hook-Signature': hex(SECRET, body) }),
  bearer: () => ({ Authorization: 'Bearer token-of-the-operator' }),
};

export const SECRET_OF: Readonly<Record<SignatureScheme, string>> = {
  standard_webhooks: STANDARD_SECRET,
  github: SECRET,
  pagerduty_v3: SECRET,
  sentry: SECRET,
  bearer: 'token-of-the-operator',
};

export function signed(scheme: SignatureScheme, over: Partial<SignatureRequest> = {}): SignatureRequest {
  return { headers: SIGNED[scheme](BODY), rawBody: BODY, secrets: [SECRET_OF[scheme]], now: NOW, ...over };
}
