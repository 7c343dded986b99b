import { describe, expect, it } from 'vitest';
import { deliveryIdOf, type HookFormat, readDelivery } from '../src/index.ts';
import { alert, group, NOW } from './read.ts';

const PAGER = { event: { id: 'E-1', event_type: 'incident.triggered', resource_type: 'incident', data: { id: 'P' } } };
const CASES: [HookFormat, Record<string, string>, unknown, string | undefined][] = [
  ['github', { 'X-GitHub-Delivery': 'd-1', 'X-GitHub-Event': 'push' }, { ref: 'main' }, 'd-1'],
  [
    'sentry',
    { 'Request-ID': 'r-1', 'Sentry-Hook-Resource': 'issue' },
    { action: 'created', data: { issue: {} } },
    'r-1',
  ],
  ['standard', { 'Webhook-Id': 'm-1' }, { type: 'x' }, 'm-1'],
  ['pagerduty_v3', {}, PAGER, 'E-1'],
  ['alertmanager', { 'webhook-id': 'x', 'x-github-delivery': 'x', 'request-id': 'x' }, group([alert()]), undefined],
];
const raw = (headers: Record<string, string>, body: unknown) => ({
  headers,
  rawBody: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
  now: NOW,
});

describe('the id of a delivery', () => {
  it.each(CASES)('is the one that reading gives: %s', (format, headers, body, id) => {
    expect(deliveryIdOf(format, raw(headers, body))).toBe(id);
    expect(readDelivery(format, raw(headers, body)).deliveryId).toBe(id);
  });

  it('is there also when the body says nothing, where a header has it', () => {
    expect(deliveryIdOf('github', raw({ 'x-github-delivery': 'd-1' }, '{"cut'))).toBe('d-1');
    expect(deliveryIdOf('pagerduty_v3', raw({}, '{"cut'))).toBeUndefined();
  });

  it('is none when it came twice or blank, and bounded without two becoming one', () => {
    const of = (...ids: string[]) =>
      deliveryIdOf('sentry', { ...raw({}, {}), headers: ids.flatMap((id) => ['request-id', id]) });
    expect([of('a', 'b'), of(' ')]).toEqual([undefined, undefined]);
    const long = 'i'.repeat(3000);
    expect(of(`${long}1`)!.length).toBeLessThanOrEqual(256);
    expect(of(`${long}1`)).not.toBe(of(`${long}2`));
  });
});
