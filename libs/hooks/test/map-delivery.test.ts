import { describe, expect, it } from 'vitest';
import { type HookDeclaration, mapDelivery } from '../src/index.ts';
import { hookOf } from './hooks.ts';
import { alert, group, read } from './read.ts';

const on = (host: string | undefined, over: Record<string, unknown> = {}) =>
  alert({ fingerprint: `f-${host}`, labels: { alertname: 'Disk', ...(host !== undefined && { host }) }, ...over });

const map = (hook: Partial<HookDeclaration>, alerts: readonly unknown[], over: Record<string, unknown> = {}) =>
  mapDelivery(hookOf(hook), read('alertmanager', group(alerts, over)));

const github = (body: unknown, event: string, hook: Partial<HookDeclaration>) =>
  mapDelivery(
    hookOf({ format: 'github', scheme: 'github', ...hook }),
    read('github', body, { 'x-github-event': event, 'x-github-delivery': 'd-1' }),
  );

const codes = (mapped: ReturnType<typeof mapDelivery>) => mapped.skipped.map((skip) => skip.code);

describe('a delivery is mapped to runs', () => {
  it('one for each alert that fires', () => {
    expect(map({}, [on('a'), on('b')]).runs).toEqual([
      { subjectKey: 'f-a', input: { host: 'a' }, alerts: ['f-a'] },
      { subjectKey: 'f-b', input: { host: 'b' }, alerts: ['f-b'] },
    ]);
  });

  it('and an alert that lacks a fact is skipped by name, and hides no other', () => {
    const mapped = map({}, [on('a'), on(undefined), on('b')]);
    expect(mapped.runs.map((run) => run.subjectKey)).toEqual(['f-a', 'f-b']);
    expect(mapped.skipped).toEqual([
      { fingerprint: 'f-undefined', code: 'fact_missing', reason: 'labels.host is missing; input.host needs it' },
    ]);
  });

  it('with picks from labels, annotations, the body, the alert and the delivery, each as what was asked for', () => {
    const input: HookDeclaration['input'] = {
      fixed: [1, null, true],
      app: { from: 'labels.app.kubernetes.io/name' },
      text: { from: 'annotations.summary' },
      team: { from: 'facts.commonLabels.team' },
      receiver: { from: ['facts', 'dotted.key', 'x'] },
      url: { from: 'alert.links.1' },
      port: { from: 'labels.port', as: 'number' },
      loud: { from: 'labels.loud', as: 'boolean' },
      version: { from: 'facts.n', as: 'string' },
      group: { from: 'groupKey' },
      since: { from: 'startsAt' },
      looks: { literal: { from: 'here' } },
      list: [{ from: 'labels.host' }, { from: 'labels.gone', required: false }],
      left: { from: 'labels.gone', required: false },
      stands: { from: 'labels.gone', default: { a: 1 } },
      whole: { from: 'facts.commonLabels' },
    };
    const labels = { alertname: 'x', host: 'a', 'app.kubernetes.io/name': 'shop', port: '8080', loud: 'true' };
    const mapped = map({ input }, [alert({ labels, links: ['u0', 'u1'] })], {
      commonLabels: { team: 't' },
      'dotted.key': { x: 'r' },
      n: 4,
    });
    expect(mapped.skipped).toEqual([]);
    expect(mapped.runs[0]!.input).toEqual({
      fixed: [1, null, true],
      app: 'shop',
      text: 'nearly full',
      team: 't',
      receiver: 'r',
      url: 'u1',
      port: 8080,
      loud: true,
      version: '4',
      group: '{}:{job="x"}',
      since: '2026-03-01T08:30:00.000Z',
      looks: { from: 'here' },
      list: ['a'],
      stands: { a: 1 },
      whole: { team: 't' },
    });
  });

  it.each([
    [{ from: 'labels.host', as: 'number' as const }, 'fact_wrong_type'],
    [{ from: 'labels.host', as: 'boolean' as const }, 'fact_wrong_type'],
    [{ from: 'facts.commonLabels', as: 'string' as const }, 'fact_wrong_type'],
    [{ from: 'labels.host', as: 'number' as const, required: false }, 'fact_wrong_type'],
    [{ from: 'labels.empty' }, 'fact_missing'],
    [{ from: 'labels.toString' }, 'fact_missing'],
    [{ from: 'facts.__proto__' }, 'fact_missing'],
    [{ from: 'facts.constructor.name' }, 'fact_missing'],
    [{ from: 'facts.list.length' }, 'fact_missing'],
    [{ from: 'facts.receiver.length' }, 'fact_missing'],
    [{ from: 'facts.nothing' }, 'fact_missing'],
  ])('not from %j: %s', (pick, code) => {
    const mapped = map({ input: { x: pick } }, [alert({ labels: { host: 'a', empty: '' } })], {
      commonLabels: {},
      list: [1],
      nothing: null,
    });
    expect(mapped).toMatchObject({ runs: [], skipped: [{ code }] });
  });

  it('only for the statuses that are asked for; declined ones tell why', () => {
    const alerts = [
      on('a'),
      on('b', { status: 'resolved' }),
      on('c', { annotations: { grafana_state_reason: 'NoData' } }),
    ];
    expect(map({}, alerts).runs.map((run) => run.subjectKey)).toEqual(['f-a']);
    expect(map({}, alerts).skipped.at(-1)!.reason).toBe('the hook does not ask for the status declined (no_data)');
    expect(map({ when: { status: ['resolved', 'declined'] } }, alerts).runs.map((run) => run.subjectKey)).toEqual([
      'f-b',
      'f-c',
    ]);
  });

  it('only for the labels that are asked for', () => {
    const mapped = map({ when: { labels: { host: ['a', 'b'], alertname: 'Disk' } } }, [
      on('a'),
      on('c'),
      on(undefined),
    ]);
    expect(mapped.runs.map((run) => run.subjectKey)).toEqual(['f-a']);
    expect(codes(mapped)).toEqual(['label_not_asked', 'label_not_asked']);
    expect(codes(map({ when: { labels: { toString: 'x' } } }, [on('a')]))).toEqual(['label_not_asked']);
  });

  it('only for the events that are asked for, whole or by their first part', () => {
    const body = { action: 'opened', ref: 'x' };
    const input = { ref: { from: 'facts.ref' } };
    expect(github(body, 'issues', { input, when: { event: 'issues' } }).runs).toHaveLength(1);
    expect(github(body, 'issues', { input, when: { event: ['push', 'issues.opened'] } }).runs).toHaveLength(1);
    expect(codes(github(body, 'issues', { input, when: { event: 'issue' } }))).toEqual(['event_not_asked']);
    expect(codes(github(body, 'issues', { input, when: { status: ['firing'] } }))).toEqual(['status_not_asked']);
  });

  it('once for an event without a status, about the delivery when no subject is named', () => {
    const input = { ref: { from: 'facts.ref' } };
    expect(github({ ref: 'main' }, 'push', { input }).runs).toEqual([
      { subjectKey: 'd-1', input: { ref: 'main' }, alerts: [] },
    ]);
    expect(github({ ref: 'main' }, 'push', { input, subject: { from: 'facts.ref' } }).runs[0]!.subjectKey).toBe('main');
    expect(codes(github({}, 'push', { input }))).toEqual(['fact_missing']);
  });

  it('and none for a ping, an empty group or a body that says nothing', () => {
    expect(codes(github({ zen: 'x' }, 'ping', {}))).toEqual(['ping']);
    expect(codes(map({}, []))).toEqual(['no_alerts']);
    expect(mapDelivery(hookOf(), read('alertmanager', ''))).toEqual({
      runs: [],
      skipped: [{ fingerprint: null, code: 'unreadable', reason: 'the body is empty; a delivery is a JSON document' }],
    });
  });
});

describe('a storm collapses', () => {
  const withinMs = 60_000;

  it('into one run a subject, with every alert named and the first one’s input', () => {
    const hook = {
      subject: { from: 'labels.host' },
      collapse: { by: 'subject' as const, withinMs },
      input: { name: { from: 'fingerprint' } },
    };
    const mapped = map(hook, [on('a'), on('b'), on('a', { fingerprint: 'second' })]);
    expect(mapped.runs).toEqual([
      { subjectKey: 'a', collapseKey: 'subject:a', input: { name: 'f-a' }, alerts: ['f-a', 'second'], otherInputs: 1 },
      { subjectKey: 'b', collapseKey: 'subject:b', input: { name: 'f-b' }, alerts: ['f-b'] },
    ]);
  });

  it('into one run a group, or one an alert', () => {
    expect(map({ collapse: { by: 'group', withinMs } }, [on('a'), on('b')]).runs).toMatchObject([
      { collapseKey: 'group:{}:{job="x"}', alerts: ['f-a', 'f-b'], otherInputs: 1 },
    ]);
    expect(map({ collapse: { by: 'fingerprint', withinMs } }, [on('a'), on('a')]).runs).toMatchObject([
      { alerts: ['f-a', 'f-a'] },
    ]);
  });

  it('under a key of bounded length', () => {
    const groupKey = 'k'.repeat(3000);
    const key = map({ collapse: { by: 'group', withinMs } }, [on('a')], { groupKey }).runs[0]!.collapseKey!;
    expect(key).toMatch(/^group:[0-9a-f]{64}$/);
  });

  it('and an alert without a subject, or with an endless one, is skipped by name', () => {
    const hook = { subject: { from: 'annotations.what' }, input: {} };
    const mapped = map(hook, [
      on('a'),
      on('b', { annotations: { what: 'x'.repeat(600) } }),
      on('c', { annotations: { what: ' ' } }),
    ]);
    expect(mapped.runs).toEqual([]);
    expect(codes(mapped)).toEqual(['subject_missing', 'subject_too_long', 'subject_missing']);
  });
});
