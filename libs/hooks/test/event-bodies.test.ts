import { describe, expect, it } from 'vitest';
import { read } from './read.ts';

const only = (delivery: ReturnType<typeof read>) => delivery.alerts[0]!;

describe('PagerDuty', () => {
  const event = (over: Record<string, unknown> = {}, data: Record<string, unknown> = {}) => ({
    event: {
      id: '01EVENT',
      event_type: 'incident.triggered',
      resource_type: 'incident',
      occurred_at: '2026-03-01T08:59:00Z',
      data: {
        id: 'PINC',
        type: 'incident',
        status: 'triggered',
        title: 'Disk',
        service: { id: 'PSVC', summary: 'db' },
        created_at: '2026-03-01T08:58:00Z',
        priority: null,
        ...data,
      },
      ...over,
    },
  });

  it('gives the event, its signed id, and the incident as an alert', () => {
    expect(read('pagerduty_v3', event())).toMatchObject({
      kind: 'alerts',
      event: 'incident.triggered',
      deliveryId: '01EVENT',
    });
    expect(only(read('pagerduty_v3', event()))).toMatchObject({
      fingerprint: 'pagerduty_incident:PINC',
      status: 'firing',
      name: 'Disk',
      labels: { service: 'db', service_id: 'PSVC' },
      startsAt: '2026-03-01T08:58:00.000Z',
    });
  });

  it.each([
    ['acknowledged', 'firing'],
    ['resolved', 'resolved'],
    ['odd', 'declined'],
    [undefined, 'declined'],
    ['constructor', 'declined'],
  ])('in status %s is %s', (status, expected) => {
    expect(only(read('pagerduty_v3', event({}, { status }))).status).toBe(expected);
  });

  it('takes a ping, and an event about something without a status', () => {
    expect(read('pagerduty_v3', event({ event_type: 'pagey.ping' }, { type: 'ping' }))).toMatchObject({
      kind: 'ping',
      alerts: [],
    });
    const note = read('pagerduty_v3', event({ event_type: 'incident.annotated' }, { type: 'incident_note' }));
    expect(note).toMatchObject({ kind: 'event', event: 'incident.annotated', alerts: [] });
  });

  it('teaches what is no webhook of version 3', () => {
    expect(read('pagerduty_v3', { messages: [{ event: 'incident.trigger' }] }).unreadable?.code).toBe('other_version');
    expect(read('pagerduty_v3', { event: 'incident.trigger' }).unreadable?.code).toBe('wrong_shape');
  });
});

describe('GitHub', () => {
  const named = (event: string) => ({
    'X-GitHub-Event': event,
    'X-GitHub-Delivery': 'd-1',
    'Content-Type': 'application/json',
  });
  const repository = { full_name: 'acme/shop' };

  it.each([
    ['success', 'resolved'],
    ['failure', 'firing'],
    ['timed_out', 'firing'],
    ['skipped', 'no_result'],
    ['cancelled', 'no_result'],
  ])('a check that ended with %s is %s', (conclusion, expected) => {
    const check_run = { name: 'lint', conclusion, head_sha: 'c0ffee', check_suite: { head_branch: 'main' } };
    const delivery = read('github', { action: 'completed', check_run, repository }, named('check_run'));
    expect(delivery).toMatchObject({ event: 'check_run.completed', deliveryId: 'd-1' });
    expect(only(delivery).declinedReason ?? only(delivery).status).toBe(expected);
    expect(only(delivery)).toMatchObject({
      fingerprint: 'github_check_run:acme/shop:main:lint',
      labels: { sha: 'c0ffee', branch: 'main' },
    });
  });

  it('a check that still runs is an event without an alert', () => {
    const body = { action: 'created', check_run: { name: 'lint', conclusion: null }, repository };
    expect(read('github', body, named('check_run'))).toMatchObject({
      kind: 'event',
      event: 'check_run.created',
      alerts: [],
    });
  });

  it.each([
    ['code_scanning_alert', 'open', 'firing'],
    ['dependabot_alert', 'fixed', 'resolved'],
    ['secret_scanning_alert', 'resolved', 'resolved'],
    ['dependabot_alert', 'dismissed', 'muted'],
  ])('a %s that is %s is %s', (event, state, expected) => {
    const delivery = read('github', { action: 'x', alert: { number: 3, state }, repository }, named(event));
    expect(only(delivery).declinedReason ?? only(delivery).status).toBe(expected);
    expect(only(delivery).fingerprint).toBe(`github_${event}:acme/shop:3`);
  });

  it.each([
    ['deployment_status', { deployment_status: { state: 'failure', environment: 'prod' } }, 'firing'],
    ['status', { state: 'error', context: 'ci/x', sha: 'abc', branches: [{ name: 'main' }] }, 'firing'],
    [
      'workflow_run',
      { workflow_run: { conclusion: 'success', workflow_id: 5, name: 'CI', head_branch: 'main' } },
      'resolved',
    ],
  ])('a %s has the status of its state', (event, body, status) => {
    expect(only(read('github', { ...body, repository }, named(event))).status).toBe(status);
  });

  it('a ping runs nothing; a push is an event', () => {
    expect(read('github', { zen: 'x', hook_id: 1 }, named('ping'))).toMatchObject({ kind: 'ping', alerts: [] });
    expect(read('github', { ref: 'refs/heads/main' }, named('push'))).toMatchObject({ kind: 'event', event: 'push' });
  });

  it('reads the documented form, in the JSON within it', () => {
    const form = `payload=${encodeURIComponent(JSON.stringify({ action: 'opened', title: 'a+b ü' }))}`;
    const headers = { ...named('issues'), 'Content-Type': 'application/x-www-form-urlencoded' };
    expect(read('github', form, headers)).toMatchObject({ event: 'issues.opened', facts: { title: 'a+b ü' } });
    expect(read('github', form).facts).toMatchObject({ action: 'opened' });
  });

  it('says when the event is not known, or the body is of another one', () => {
    expect(read('github', { action: 'x' }).doubts.join()).toContain('X-GitHub-Event is missing');
    expect(read('github', { action: 'x' }, named('check_run')).doubts.join()).toContain('nothing of that kind');
  });
});

describe('Sentry', () => {
  const named = (resource: string) => ({ 'Sentry-Hook-Resource': resource, 'Request-ID': 'r-1' });

  it('an issue alert fires for its issue, and the issue’s own webhooks are about the same thing', () => {
    const event = {
      event_id: 'e',
      issue_id: '77',
      title: 'Boom',
      datetime: '2026-03-01T08:00:00.5Z',
      level: 'error',
      tags: [['env', 'prod'], 'odd'],
    };
    const triggered = read(
      'sentry',
      { action: 'triggered', data: { event, triggered_rule: 'Loud' } },
      named('event_alert'),
    );
    expect(triggered).toMatchObject({ kind: 'alerts', event: 'event_alert.triggered', deliveryId: 'r-1' });
    expect(only(triggered)).toMatchObject({
      status: 'firing',
      name: 'Boom',
      labels: { env: 'prod', level: 'error' },
      annotations: { rule: 'Loud' },
    });
    const resolved = read(
      'sentry',
      { action: 'resolved', data: { issue: { id: '77', status: 'resolved' } } },
      named('issue'),
    );
    expect(only(resolved)).toMatchObject({ fingerprint: only(triggered).fingerprint, status: 'resolved' });
  });

  it('an activity alert has the status of its issue', () => {
    const data = { issue: { id: '7', status: 'unresolved', title: 'Again' } };
    const delivery = read('sentry', { action: 'triggered', data }, named('activity_alert'));
    expect(only(delivery)).toMatchObject({ fingerprint: 'sentry_issue:7', status: 'firing', name: 'Again' });
  });

  it('an issue that was ignored is not known to be gone', () => {
    const delivery = read(
      'sentry',
      { action: 'archived', data: { issue: { id: 7, status: 'ignored' } } },
      named('issue'),
    );
    expect(only(delivery)).toMatchObject({ status: 'declined', declinedReason: 'muted' });
  });

  it.each([
    ['critical', 'firing'],
    ['warning', 'firing'],
    ['resolved', 'resolved'],
    ['odd', 'declined'],
  ])('a metric alert %s is %s', (action, status) => {
    const data = {
      metric_alert: { id: '5', alert_rule: { id: '9', name: 'p95' }, projects: ['web'] },
      description_text: 'slow',
    };
    expect(only(read('sentry', { action, data }, named('metric_alert')))).toMatchObject({
      fingerprint: 'sentry_metric_alert:9',
      status,
      name: 'p95',
    });
  });

  it('shows what it is without its header, with a doubt', () => {
    const delivery = read('sentry', { action: 'created', data: { issue: { id: '1', status: 'unresolved' } } });
    expect(delivery).toMatchObject({
      event: 'issue.created',
      doubts: [expect.stringContaining('Sentry-Hook-Resource')],
    });
  });

  it('an installation is an event, the old plugin is named', () => {
    expect(read('sentry', { action: 'created', data: { installation: {} } }, named('installation')).kind).toBe('event');
    expect(read('sentry', { project: 'x', event: {} }).unreadable?.code).toBe('other_version');
    expect(read('sentry', { hello: 1 }).unreadable?.code).toBe('wrong_shape');
  });
});

describe('Standard Webhooks', () => {
  it('takes any object: its type is the event', () => {
    const delivery = read('standard', { type: 'invoice.paid', data: { n: 1 } }, { 'Webhook-Id': 'msg_9' });
    expect(delivery).toMatchObject({
      kind: 'event',
      event: 'invoice.paid',
      deliveryId: 'msg_9',
      facts: { data: { n: 1 } },
    });
  });

  it('says when there is no type, and refuses what is no object', () => {
    expect(read('standard', {}).doubts.join()).toContain('no `type`');
    expect(read('standard', []).unreadable?.code).toBe('wrong_shape');
  });
});
