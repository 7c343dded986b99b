import { describe, expect, it, test } from 'vitest';
import { MAX_ALERTS } from '../src/index.ts';
import { alert, grafanaGroup, group, read, ZERO } from './read.ts';

const only = (delivery: ReturnType<typeof read>) => delivery.alerts[0]!;

describe('an Alertmanager group', () => {
  it('is read into alerts with names, labels, times and the rest as facts', () => {
    const delivery = read(
      'alertmanager',
      group([alert({ generatorURL: 'http://p/graph' })], { commonLabels: { a: 'b' } }),
    );
    expect(delivery).toMatchObject({
      kind: 'alerts',
      groupKey: '{}:{job="x"}',
      doubts: [],
      facts: { commonLabels: { a: 'b' } },
    });
    expect(only(delivery)).toMatchObject({
      fingerprint: 'f00d',
      status: 'firing',
      name: 'DiskFull',
      labels: { alertname: 'DiskFull', host: 'db-7' },
      annotations: { summary: 'nearly full' },
      startsAt: '2026-03-01T08:30:00.000Z',
      facts: { generatorURL: 'http://p/graph' },
    });
    expect(only(delivery)).not.toHaveProperty('endsAtDoubt');
    expect(delivery.facts).not.toHaveProperty('alerts');
  });

  it('lets each alert’s own status decide, whatever the group’s is', () => {
    const delivery = read(
      'alertmanager',
      group([alert(), alert({ status: 'resolved', fingerprint: 'b' })], { status: 'resolved' }),
    );
    expect(delivery.alerts.map((one) => one.status)).toEqual(['firing', 'resolved']);
  });

  it('declines an alert whose status is missing or unknown, and reads the others', () => {
    const delivery = read(
      'alertmanager',
      group([alert({ status: undefined }), 'no alert', alert({ status: 'odd' }), alert()]),
    );
    expect(delivery.alerts.map((one) => one.declinedReason ?? one.status)).toEqual([
      'status_missing',
      'status_unknown',
      'firing',
    ]);
    expect(delivery.doubts).toEqual([
      'alert 2 of 4 is no object and is left out',
      '2 alerts have the fingerprint of another one',
    ]);
  });

  it('makes the fingerprint that Prometheus makes when the sender leaves it out', () => {
    const fingerprint = (labels: Record<string, unknown>) =>
      only(read('alertmanager', group([alert({ fingerprint: undefined, labels })]))).fingerprint;
    // The offset of FNV-1a for no labels; for one, worked out by hand with big integers.
    expect(fingerprint({})).toBe('cbf29ce484222325');
    expect(fingerprint({ a: 'é', b: '2' })).toBe(
      byHand([
        ['a', 'é'],
        ['b', '2'],
      ]),
    );
    expect(fingerprint({ b: '2', a: 'é' })).toBe(fingerprint({ a: 'é', b: '2' }));
    expect(fingerprint({ a: '1' })).not.toBe(fingerprint({ a: '2' }));
  });

  it.each([
    [{ version: '3', groupKey: 77001 }, 'version 3'],
    [{ version: undefined }, 'version is missing'],
  ])('of an older version %j is read with a doubt', (over, doubt) => {
    const delivery = read('alertmanager', group([alert()], over));
    expect(only(delivery).status).toBe('firing');
    expect(delivery.doubts.join()).toContain(doubt);
  });

  it('keeps a number of a group key that JavaScript would round', () => {
    expect(read('alertmanager', '{"version":"3","groupKey":9007199254740993123,"alerts":[]}').groupKey).toBe(
      '9007199254740993123',
    );
  });

  it.each([
    [[{ status: { state: 'active' }, labels: {} }], 'not_a_webhook'],
    [[{ labels: { alertname: 'x' }, startsAt: ZERO }], 'not_a_webhook'],
    [{ status: 'success', data: [] }, 'not_a_webhook'],
    [grafanaGroup([alert()]), 'other_format'],
    [group([], { version: '9' }), 'other_version'],
    [{ version: '4', alerts: {} }, 'wrong_shape'],
    [[1, 2], 'wrong_shape'],
    ['"text"', 'wrong_shape'],
    ['null', 'wrong_shape'],
  ])('is not seen in %j: %s', (body, code) => {
    expect(read('alertmanager', body)).toMatchObject({ kind: 'unreadable', alerts: [], unreadable: { code } });
  });

  it('that was cut short says how much is missing', () => {
    expect(read('alertmanager', group([alert()], { truncatedAlerts: 7 })).truncated).toMatchObject({ missing: 7 });
    expect(read('alertmanager', group([alert()], { truncatedAlerts: 0 })).truncated).toBeUndefined();
    const odd = read('alertmanager', group([alert()], { truncatedAlerts: 'some' }));
    expect(odd.truncated).toEqual({ why: 'the sender may have cut alerts off this group' });
    expect(odd.doubts.join()).toContain('truncatedAlerts');
  });

  it('of more than a thousand alerts is read up to there, with the rest counted beside the sender’s own cut', () => {
    const alerts = Array.from({ length: MAX_ALERTS + 5 }, (_, at) => alert({ fingerprint: `f${at}` }));
    const delivery = read('alertmanager', group(alerts, { truncatedAlerts: 2 }));
    expect(delivery.alerts).toHaveLength(MAX_ALERTS);
    expect(delivery.truncated).toMatchObject({ missing: 7, why: expect.stringContaining('1005 alerts') });
  });

  it('without alerts says so', () => {
    expect(read('alertmanager', group([]))).toMatchObject({ kind: 'alerts', doubts: ['the list of alerts is empty'] });
  });
});

describe('a time of an alert', () => {
  test.each([
    ['2026-03-01T10:30:00.1234567+02:00', { startsAt: '2026-03-01T08:30:00.123Z' }],
    ['2026-03-01T08:30:00+0000', { startsAt: '2026-03-01T08:30:00.000Z' }],
    [ZERO, { startsAtDoubt: 'zero_time' }],
    ['1970-01-01T00:00:00Z', { startsAtDoubt: 'epoch' }],
    ['2026-03-01T09:06:00Z', { startsAtDoubt: 'in_the_future' }],
    ['2026-03-01T09:04:00Z', { startsAt: '2026-03-01T09:04:00.000Z' }],
    ['2026-03-01T08:30:00', { startsAtDoubt: 'no_zone' }],
    ['2026-02-30T08:30:00Z', { startsAtDoubt: 'not_a_time' }],
    ['this morning', { startsAtDoubt: 'not_a_time' }],
    [1772350000, { startsAtDoubt: 'not_a_time' }],
    [undefined, {}],
  ])('written as %j is %j', (startsAt, expected) => {
    const { startsAt: at, startsAtDoubt: doubt } = only(read('alertmanager', group([alert({ startsAt })])));
    expect({ ...(at && { startsAt: at }), ...(doubt && { startsAtDoubt: doubt }) }).toEqual(expected);
  });

  test('at zero is no doubt for the end of an alert that goes on, and one for the end of a resolved one', () => {
    expect(only(read('alertmanager', group([alert()])))).not.toHaveProperty('endsAtDoubt');
    expect(only(read('alertmanager', group([alert({ status: 'resolved' })]))).endsAtDoubt).toBe('zero_time');
  });
});

describe.each(['grafana', 'alertmanager'] as const)('what Grafana says of its own sight, sent to %s', (format) => {
  const one = (over: Record<string, unknown>) =>
    only(read(format, format === 'grafana' ? grafanaGroup([alert(over)]) : group([alert(over)])));

  it.each([
    [{ labels: { alertname: 'DatasourceNoData', rulename: 'Disk' } }, 'no_data'],
    [{ labels: { alertname: 'DatasourceError' }, values: null }, 'datasource_error'],
    [{ status: 'resolved', labels: { alertname: 'DatasourceNoData' } }, 'no_data'],
    [{ annotations: { grafana_state_reason: 'NoData' } }, 'no_data'],
    [{ annotations: { grafana_state_reason: 'Error, KeepLast' } }, 'datasource_error'],
    [{ status: 'resolved', annotations: { grafana_state_reason: 'MissingSeries' } }, 'missing_series'],
    [{ status: 'resolved', annotations: { grafana_state_reason: 'Paused' } }, 'rule_paused'],
    [{ status: 'resolved', annotations: { grafana_state_reason: 'RuleDeleted' } }, 'rule_deleted'],
    [{ values: { A: null, B: null } }, 'values_null'],
    [{ values: null, valueString: "[ var='B' labels={} value=null ]" }, 'values_null'],
  ])('%j is declined: %s', (over, reason) => {
    expect(one(over)).toMatchObject({ status: 'declined', declinedReason: reason });
  });

  it.each([
    { values: { A: 1, B: null } },
    { values: null, valueString: '' },
    { values: {}, valueString: '' },
    { valueString: "[ var='B' labels={} value=null ], [ var='C' labels={} value=3 ]" },
    { labels: { alertname: 'constructor' } },
    { annotations: { grafana_state_reason: 'NoDataYetElsewhere' } },
  ])('%j is an alert like another', (over) => {
    expect(one(over).status).toBe('firing');
  });
});

describe('a Grafana body', () => {
  it('gives the measured value where there is one', () => {
    expect(only(read('grafana', grafanaGroup([alert({ values: { B: 91.5 } })]))).value).toBe(91.5);
    expect(only(read('grafana', grafanaGroup([alert({ values: { B: 91.5, C: 1 } })])))).not.toHaveProperty('value');
  });

  it('says when alerts fire without a measured value', () => {
    expect(read('grafana', grafanaGroup([alert({ values: null })])).doubts).toEqual([
      '1 firing alerts came without a measured value',
    ]);
  });

  it('that the button Test made is a ping', () => {
    const test = alert({ labels: { alertname: 'TestAlert', instance: 'Grafana' } });
    expect(read('grafana', grafanaGroup([test]))).toMatchObject({ kind: 'ping', alerts: [] });
    expect(read('grafana', grafanaGroup([test, alert()])).kind).toBe('alerts');
    expect(read('grafana', { ruleId: 0, ruleName: 'Test notification', state: 'alerting', evalMatches: [] }).kind).toBe(
      'ping',
    );
  });

  it.each([
    ['alerting', [{ metric: 'm', value: 12, tags: null }], { status: 'firing', value: 12 }],
    ['ok', [], { status: 'resolved' }],
    ['no_data', [], { status: 'declined', declinedReason: 'no_data' }],
    ['paused', [], { status: 'declined', declinedReason: 'rule_paused' }],
    ['alerting', [{ metric: 'NoData', value: null }], { status: 'declined', declinedReason: 'no_data' }],
    ['alerting', [{ metric: 'm', value: null }], { status: 'declined', declinedReason: 'values_null' }],
    ['alerting', [], { status: 'declined', declinedReason: 'datasource_error' }],
    [undefined, [], { status: 'declined', declinedReason: 'status_missing' }],
    ['odd', [], { status: 'declined', declinedReason: 'status_unknown' }],
  ])('of legacy alerting in state %s with matches %j is one alert %j', (state, evalMatches, expected) => {
    const delivery = read('grafana', { ruleId: 4, orgId: 2, ruleName: 'CPU', state, evalMatches, tags: { team: 'x' } });
    expect(delivery.doubts.join()).toContain('legacy');
    expect(only(delivery)).toMatchObject({
      fingerprint: 'grafana_rule:2:4',
      labels: { alertname: 'CPU', team: 'x' },
      ...expected,
    });
  });

  it.each([
    [group([alert()]), 'other_format'],
    [{ message: 'my own template' }, 'wrong_shape'],
    [[], 'wrong_shape'],
  ])('is not seen in %j: %s', (body, code) => {
    expect(read('grafana', body)).toMatchObject({ kind: 'unreadable', unreadable: { code } });
  });
});

function byHand(labels: readonly (readonly [string, string])[]): string {
  let hash = 14695981039346656037n;
  const bytes = labels.flat().flatMap((text) => [...Buffer.from(text), 0xff]);
  for (const byte of bytes) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 1099511628211n);
  return hash.toString(16).padStart(16, '0');
}
