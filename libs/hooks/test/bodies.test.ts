import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  bodyDigest,
  defineHook,
  HOOK_FORMATS,
  MAX_BODY_BYTES,
  mapDelivery,
  readDelivery,
  redactBody,
} from '../src/index.ts';
import { alert, grafanaGroup, group, NOW, read } from './read.ts';

describe.each(HOOK_FORMATS)('a body for %s', (format) => {
  it.each<readonly [string, string | Uint8Array, string]>([
    ['nothing', '', 'body_empty'],
    ['blanks', ' \n\t', 'body_empty'],
    ['a text cut off', '{"a":"b', 'body_cut_off'],
    ['a list cut off', '{"a":[1,2', 'body_cut_off'],
    ['a member cut off', '{"a":1,\n', 'body_cut_off'],
    ['quotation marks as they are', '{"a":"it is "here""}', 'body_not_json'],
    ['line ends as they are', '{"a":"two\nlines"}', 'body_not_json'],
    ['a page', '<html></html>', 'body_not_json'],
    ['single quotation marks', "{'a': 1}", 'body_not_json'],
    ['two documents', '{"a":1}{"b":2}', 'body_not_json'],
    ['words that sound like a parser', 'position 99', 'body_not_json'],
    ['a form', 'a=b&c=d', 'body_form_encoded'],
    ['a NUL', '{"a":"\u0000"}', 'body_not_text'],
    ['another encoding', Buffer.from([0xff, 0xfe, 0x7b, 0x00]), 'body_not_text'],
    ['compressed bytes', gzipSync('{}'), 'body_encoded'],
    ['33 levels', `${'['.repeat(33)}${']'.repeat(33)}`, 'body_too_deep'],
    ['half a million brackets', '['.repeat(500_000), 'body_too_deep'],
    ['more than 1 MiB', `"${'x'.repeat(MAX_BODY_BYTES)}"`, 'body_too_large'],
  ])('of %s is unreadable', (_what, body, code) => {
    const delivery = read(format, body);
    expect(delivery).toMatchObject({ format, kind: 'unreadable', alerts: [], unreadable: { code } });
    expect(delivery.unreadable!.detail.length).toBeLessThan(200);
  });

  test('of any bytes neither crashes reading, mapping nor showing', () => {
    const hook = defineHook({
      name: 'any',
      format,
      runbook: 'r',
      scheme: 'bearer',
      secrets: [{ credential: 'c' }],
      input: { host: { from: 'labels.host' }, all: { from: 'facts.a.b', required: false } },
    });
    const headers = fc.dictionary(
      fc.constantFrom('content-type', 'x-github-event', 'sentry-hook-resource', 'webhook-id', '__proto__'),
      fc.oneof(
        fc.string(),
        fc.array(fc.string(), { maxLength: 2 }),
        fc.constantFrom('check_run', 'issue', 'application/x-www-form-urlencoded'),
      ),
    );
    const anyBody = fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
      fc.json().map((text) => Buffer.from(text)),
      shaped.map((value) => Buffer.from(JSON.stringify(value))),
    );
    fc.assert(
      fc.property(headers, anyBody, (given, rawBody) => {
        const delivery = readDelivery(format, { headers: given, rawBody, now: NOW });
        expect(delivery.deliveryDigest).toBe(bodyDigest(rawBody));
        expect((delivery.kind === 'unreadable') === (delivery.unreadable !== undefined)).toBe(true);
        const { runs, skipped } = mapDelivery(hook, delivery);
        const told =
          runs.flatMap((run) => run.alerts).length + skipped.filter((skip) => skip.fingerprint !== null).length;
        expect(told).toBe(delivery.kind === 'alerts' && skipped[0]?.fingerprint !== null ? delivery.alerts.length : 0);
        const { headers: shown } = redactBody(format, { headers: given, rawBody });
        // What is kept of the headers is all that reading needs.
        expect(readDelivery(format, { headers: shown, rawBody, now: NOW })).toEqual(delivery);
      }),
      { numRuns: 200 },
    );
  });
});

/** Bodies of nearly the right shape, with anything in the places that are read. */
const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom('firing', 'resolved', 'DatasourceNoData', null, 0, { toString: 1, valueOf: 1, toJSON: 2 }),
);
const bag = fc.dictionary(
  fc.constantFrom('alertname', 'host', 'status', 'id', 'number', '__proto__', 'constructor', 'type'),
  anything,
);
const shaped = fc.record(
  {
    alerts: fc.oneof(
      fc.array(
        fc.record(
          {
            status: anything,
            labels: fc.oneof(bag, anything),
            annotations: bag,
            values: fc.oneof(bag, anything),
            startsAt: anything,
          },
          { requiredKeys: [] },
        ),
      ),
      anything,
    ),
    version: anything,
    orgId: anything,
    truncatedAlerts: anything,
    event: fc.record({ event_type: anything, data: bag }, { requiredKeys: [] }),
    data: fc.record({ issue: bag, event: bag, metric_alert: bag }, { requiredKeys: [] }),
    action: fc.string(),
    check_run: bag,
    evalMatches: anything,
    state: anything,
  },
  { requiredKeys: [] },
);

describe('text from outside', () => {
  it('loses what cannot be seen, in values, names and ids, and keeps its lines', () => {
    const labels = { alertname: 'Di\u200bsk\u202e', 'ho\u0007st': '\u001b[31mdb\u001b[0m' };
    const delivery = read(
      'alertmanager',
      group([
        alert({ labels, annotations: { text: 'one\ntwo' }, fingerprint: 'a\u0000b'.replace('\u0000', '\u0001') }),
      ]),
    );
    expect(delivery.alerts[0]).toMatchObject({
      name: 'Disk',
      labels: { alertname: 'Disk', host: 'db' },
      annotations: { text: 'one\ntwo' },
      fingerprint: 'ab',
    });
  });

  it('is bounded, and says what was cut', () => {
    const delivery = read(
      'grafana',
      grafanaGroup([alert({ annotations: { long: 'x'.repeat(5000) } })], { message: 'y'.repeat(5000) }),
    );
    expect(delivery.alerts[0]!.annotations.long).toHaveLength(4096);
    expect(delivery.doubts).toEqual(['2 texts were longer than 4096 characters and are cut']);
  });

  it('never becomes a prototype, not even behind an invisible character', () => {
    const body = `{"version":"4","alerts":[{"status":"firing","labels":{"__proto__":"p","__pro\\u200bto__":"q","constructor":"c","a":"1","a\\u200b":"2"}}],"__proto__":{"polluted":true}}`;
    const delivery = read('alertmanager', body);
    expect(Object.entries(delivery.alerts[0]!.labels)).toEqual([
      ['constructor', 'c'],
      ['a', '1'],
    ]);
    expect(Object.getPrototypeOf(delivery.facts)).toBe(Object.prototype);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    expect(delivery.doubts.join()).toContain('4 keys are left out');
  });

  it('gives ids that can be keys, and no two the same one', () => {
    const id = (end: string) =>
      read('standard', { type: 'x' }, { 'webhook-id': `${'i'.repeat(400)}${end}` }).deliveryId!;
    const fingerprint = (end: string) =>
      read('alertmanager', group([alert({ fingerprint: `${'f'.repeat(400)}${end}` })])).alerts[0]!.fingerprint;
    for (const make of [id, fingerprint]) {
      expect(make('a').length).toBeLessThanOrEqual(256);
      expect(make('a')).not.toBe(make('b'));
    }
  });

  it('makes a fingerprint of labels that are no texts', () => {
    const of = (labels: unknown) =>
      read('alertmanager', group([alert({ fingerprint: undefined, labels })])).alerts[0]!.fingerprint;
    expect(of({ a: { toString: 1, valueOf: 1 } })).not.toBe(of({ a: { toString: 2, valueOf: 1 } }));
    expect(of({ a: 1 })).toBe(of({ a: '1' }));
    expect(of('no labels')).toBe(of({}));
  });

  it('may be full of brackets, even behind an escaped quotation mark', () => {
    const text = `"${'[{'.repeat(40)}`;
    expect(read('standard', { type: text }).event).toBe(text);
    expect(read('standard', `{"a":"\\\\","b":${'['.repeat(40)}1${']'.repeat(40)}}`).unreadable?.code).toBe(
      'body_too_deep',
    );
  });

  it('may begin with a byte order mark', () => {
    expect(read('standard', Buffer.from('\ufeff{"type":"x"}')).event).toBe('x');
  });

  it('is told apart by its bytes', () => {
    expect(read('standard', '{"type":"x"}').deliveryDigest).not.toBe(read('standard', '{"type": "x"}').deliveryDigest);
    expect(read('standard', '{}').deliveryDigest).toMatch(/^sha256:[0-9a-f]{64}$/);
  });
});
