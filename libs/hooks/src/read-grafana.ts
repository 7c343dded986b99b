/** Grafana's webhook: unified alerting, and the legacy one (before version 9, or kept) with one rule a body. */
import { type ReadingContext, readAlertList, readTexts } from './alert-list.ts';
import { type AlertStatus, type BodyReading, type DeclinedReason, type HookAlert, unreadable } from './delivery.ts';
import { inertFacts, isObject, own, ownText } from './inert-json.ts';

export function readGrafana(body: unknown, context: ReadingContext): BodyReading {
  if (!isObject(body))
    return unreadable('wrong_shape', 'the body must be an object, as the webhook contact point sends it');
  if (Array.isArray(own(body, 'alerts'))) return readUnified(body, context);
  if (ownText(body, 'ruleName') !== undefined || own(body, 'evalMatches') !== undefined)
    return readLegacy(body, context);
  return unreadable(
    'wrong_shape',
    'the body has no list `alerts`; where the contact point has a custom payload, set it back to the default',
  );
}

function readUnified(body: Record<string, unknown>, context: ReadingContext): BodyReading {
  if (ownText(body, 'version') === '4' && own(body, 'orgId') === undefined) {
    return unreadable('other_format', 'this is a body of Alertmanager; declare the hook with the format alertmanager');
  }
  const { alerts, ...group } = body as { readonly alerts: readonly unknown[] };
  const list = readAlertList(alerts, body, context);
  const facts = inertFacts(group, context.losses);
  if (list.alerts.length > 0 && list.alerts.every(isContactPointTest)) {
    return { kind: 'ping', alerts: [], doubts: list.doubts, facts };
  }
  const groupKey = ownText(group, 'groupKey');
  const odd = list.alerts.filter((alert) => alert.facts.values === null && alert.status === 'firing').length;
  const doubts = [...list.doubts, ...(odd > 0 ? [`${odd} firing alerts came without a measured value`] : [])];
  return { kind: 'alerts', ...list, doubts, ...(groupKey !== undefined && { groupKey }), facts };
}

/** What the button "Test" of a contact point sends. */
function isContactPointTest(alert: HookAlert): boolean {
  return alert.labels.alertname === 'TestAlert' && alert.labels.instance === 'Grafana';
}

function readLegacy(body: Record<string, unknown>, context: ReadingContext): BodyReading {
  const facts = inertFacts(body, context.losses);
  const doubts = ['this is a body of legacy alerting: one rule, and no alerts of its own'];
  const name = ownText(body, 'ruleName') ?? ownText(body, 'title');
  if (own(body, 'ruleId') === 0 && name === 'Test notification') return { kind: 'ping', alerts: [], doubts, facts };
  const matches = legacyMatches(body);
  const { status, declinedReason } = legacyStatus(ownText(body, 'state'), matches);
  const value = matches.length === 1 && typeof matches[0]!.value === 'number' ? matches[0]!.value : undefined;
  const rule = ownText(body, 'ruleId') ?? name ?? 'unknown';
  const labels = readTexts(own(body, 'tags'), context.losses);
  if (name !== undefined) labels.alertname = name;
  const alert: HookAlert = {
    fingerprint: `grafana_rule:${ownText(body, 'orgId') ?? ''}:${rule}`,
    status,
    ...(declinedReason !== undefined && { declinedReason }),
    ...(name !== undefined && { name }),
    labels,
    annotations: readTexts({ message: own(body, 'message') }, context.losses),
    ...(value !== undefined && { value }),
    facts,
  };
  return { kind: 'alerts', alerts: [alert], doubts, facts };
}

interface Match {
  readonly metric: unknown;
  readonly value: unknown;
}

function legacyMatches(body: unknown): readonly Match[] {
  const sent = own(body, 'evalMatches');
  return Array.isArray(sent) ? sent.map((item) => ({ metric: own(item, 'metric'), value: own(item, 'value') })) : [];
}

function legacyStatus(
  state: string | undefined,
  matches: readonly Match[],
): { status: AlertStatus; declinedReason?: DeclinedReason } {
  const declined = (declinedReason: DeclinedReason) => ({ status: 'declined' as const, declinedReason });
  if (state === 'ok') return { status: 'resolved' };
  if (state === 'no_data') return declined('no_data');
  if (state === 'paused') return declined('rule_paused');
  if (state === 'pending') return declined('pending');
  if (state === undefined) return declined('status_missing');
  if (state !== 'alerting') return declined('status_unknown');
  // A rule that fires has a match; one set to alert on errors has none when its source cannot be asked.
  if (matches.length === 0) return declined('datasource_error');
  if (matches.some((match) => typeof match.value === 'number')) return { status: 'firing' };
  return declined(matches.some((match) => match.metric === 'NoData') ? 'no_data' : 'values_null');
}
