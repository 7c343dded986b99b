/** Reads what a test wrote as the sender's bytes. */
import { type HookDelivery, type HookFormat, readDelivery } from '../src/index.ts';

export const NOW = new Date('2026-03-01T09:00:00Z');
export const ZERO = '0001-01-01T00:00:00Z';

export function read(format: HookFormat, body: unknown, headers: Record<string, string> = {}): HookDelivery {
  const rawBody =
    body instanceof Uint8Array ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return readDelivery(format, { headers, rawBody, now: NOW });
}

/** A group as Alertmanager sends it, with the alerts of a test. */
export function group(alerts: readonly unknown[], over: Record<string, unknown> = {}): Record<string, unknown> {
  return { version: '4', groupKey: '{}:{job="x"}', status: 'firing', receiver: 'r', alerts, ...over };
}

export function alert(over: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    status: 'firing',
    labels: { alertname: 'DiskFull', host: 'db-7' },
    annotations: { summary: 'nearly full' },
    startsAt: '2026-03-01T08:30:00Z',
    endsAt: ZERO,
    fingerprint: 'f00d',
    ...over,
  };
}

/** A Grafana body: the same group with what Grafana adds. */
export function grafanaGroup(alerts: readonly unknown[], over: Record<string, unknown> = {}): Record<string, unknown> {
  return group(alerts, { version: '1', orgId: 1, title: 't', state: 'alerting', truncatedAlerts: 0, ...over });
}
