/** Senders of webhooks for tests: hooks of two tenants, and deliveries signed by code that is not the one under test. */
import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { sealCredential } from '@muster/envelope';
import { defineHook, type Hook, type HookDeclaration } from '@muster/hooks';
import { SecretBox } from '@muster/host';
import type { ApiOptions } from '../src/api-deps.ts';
import { type Answer, type Fixture, OTHER_TENANT, openFixture, TENANT } from './fixture.ts';
import { testCatalog } from './test-runbooks.ts';

/** The secrets that the hooks refer to; a test may change them. */
export const SECRETS: Record<string, string> = {
  alerts: 'token-of-alerts',
  repo: 'secret of the repo',
  pager: 'secret of the pager',
  errors: 'secret of the errors',
  shop: `whsec_${Buffer.from('0123456789abcdef01234567').toString('base64')}`,
  foreign: 'token-of-another',
};

const hook = (name: string, over: Partial<HookDeclaration>): Hook =>
  defineHook({
    name,
    tenant: TENANT,
    format: 'standard',
    runbook: 'anything',
    scheme: 'bearer',
    secrets: [{ credential: name }],
    input: {},
    ...over,
  });

const HOOKS = [
  hook('alerts', { format: 'alertmanager', secrets: [{ credential: 'alerts' }, { credential: 'alerts_next' }] }),
  hook('repo', { format: 'github', scheme: 'github' }),
  hook('pager', { format: 'pagerduty_v3', scheme: 'pagerduty_v3' }),
  hook('errors', { format: 'sentry', scheme: 'sentry' }),
  hook('shop', { scheme: 'standard_webhooks' }),
  hook('foreign', { format: 'alertmanager', tenant: OTHER_TENANT }),
];

/** The API with hooks. */
export function openHooks(over: Partial<ApiOptions> = {}): Promise<Fixture> {
  return openFixture({
    catalog: { ...testCatalog, hooks: new Map(HOOKS.map((one) => [one.name, one])) },
    box: new SecretBox(randomBytes(32)),
    resolveCredential: ({ credential }) => {
      const value = SECRETS[credential];
      return value === undefined ? undefined : sealCredential(credential, value);
    },
    ...over,
  });
}

export type HookName = 'alerts' | 'repo' | 'pager' | 'errors' | 'shop' | 'foreign';
export type Headers = Record<string, string>;

/** A delivery that its sender would make. */
export interface Sent {
  readonly hook: HookName;
  readonly raw: string;
  readonly headers: Headers;
}

const hex = (secret: string, body: string) => createHmac('sha256', secret).update(body).digest('hex');

function standard(id: string, at: Date, body: string): Headers {
  const seconds = String(Math.floor(at.getTime() / 1000));
  const key = Buffer.from(SECRETS.shop!.slice('whsec_'.length), 'base64');
  const mac = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': `v1,${mac}` };
}

const SENDERS: Readonly<Record<HookName, (raw: string, id: string, at: Date) => Headers>> = {
  alerts: () => ({ authorization: `Bearer ${SECRETS.alerts}` }),
  foreign: () => ({ authorization: `Bearer ${SECRETS.foreign}` }),
  repo: (raw, id) => ({
    'x-github-event': 'push',
    'x-github-delivery': id,
    'x-hub-signature-256': `sha256=${hex(SECRETS.repo!, raw)}`,
  }),
  pager: (raw) => ({ 'x-pagerduty-signature': `v1=${hex(SECRETS.pager!, raw)}` }),
  errors: (raw, id) => ({
    'request-id': id,
    'sentry-hook-resource': 'issue',
    'sentry-hook-signature': hex(SECRETS.errors!, raw),
  }),
  shop: (raw, id, at) => standard(id, at, raw),
};

/** A group of Alertmanager's with one alert. */
export function alertGroup(host: string, over: Record<string, unknown> = {}): Record<string, unknown> {
  const alert = { status: 'firing', labels: { alertname: 'DiskFull', host }, startsAt: '2026-03-01T08:30:00Z' };
  return { version: '4', groupKey: '{}', status: 'firing', receiver: 'muster', alerts: [alert], ...over };
}

const BODIES: Readonly<Record<HookName, (id: string) => unknown>> = {
  alerts: alertGroup,
  foreign: alertGroup,
  repo: (id) => ({ ref: id }),
  pager: (id) => ({ event: { id, event_type: 'incident.triggered', resource_type: 'incident', data: { id: 'PX' } } }),
  errors: (id) => ({ action: 'created', data: { issue: { id } } }),
  shop: (id) => ({ type: 'order.stuck', data: { order: id } }),
};

/** Signs a delivery; `body` and `id` are of their own unless they are given. */
export function sign(name: HookName, given: { body?: unknown; id?: string; at?: Date } = {}): Sent {
  const { id = randomUUID(), at = new Date() } = given;
  const raw = JSON.stringify(given.body ?? BODIES[name](id));
  return { hook: name, raw, headers: { 'content-type': 'application/json', ...SENDERS[name](raw, id, at) } };
}

/** Sends a delivery, as it was signed or changed on the way. */
export function post(fixture: Fixture, sent: Sent, over: Partial<Sent> | { hook: string } = {}): Promise<Answer> {
  const { hook: name, raw, headers } = { ...sent, ...over };
  return fixture.ask(`/v1/hooks/${name}`, { method: 'POST', raw, headers, key: undefined });
}
