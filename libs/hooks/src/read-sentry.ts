/** Sentry's integration webhooks: issue alerts, metric alerts, issues and errors have a status; the rest are events. */
import { type ReadingContext, readTexts, readTimes } from './alert-list.ts';
import { type AlertStatus, type BodyReading, type DeclinedReason, type HookAlert, unreadable } from './delivery.ts';
import { type HookHeaders, headerValue } from './hook-headers.ts';
import { inertFacts, isObject, type Losses, own, ownText } from './inert-json.ts';

type Verdict = { readonly status: AlertStatus; readonly declinedReason?: DeclinedReason };

const MUTED: Verdict = { status: 'declined', declinedReason: 'muted' };
const ISSUE_STATUS: Readonly<Record<string, Verdict>> = {
  unresolved: { status: 'firing' },
  resolved: { status: 'resolved' },
  // A person looked away; the fault is not known to be gone.
  ignored: MUTED,
  muted: MUTED,
};
const METRIC_ACTION: Readonly<Record<string, Verdict>> = {
  critical: { status: 'firing' },
  warning: { status: 'firing' },
  resolved: { status: 'resolved' },
};
/** The member of `data` that a resource speaks of, for a delivery whose header was lost. */
const MEMBERS: readonly (readonly [member: string, resource: string])[] = [
  ['metric_alert', 'metric_alert'],
  ['event', 'event_alert'],
  ['error', 'error'],
  ['issue', 'issue'],
  ['installation', 'installation'],
];

export function readSentry(body: unknown, headers: HookHeaders, context: ReadingContext): BodyReading {
  if (!isObject(body)) return unreadable('wrong_shape', 'the body must be a JSON object');
  const data = own(body, 'data');
  const action = ownText(body, 'action');
  if (action === undefined || !isObject(data)) {
    const old = own(body, 'event') !== undefined && own(body, 'project') !== undefined;
    return old
      ? unreadable('other_version', 'this is the old WebHooks plugin; use an internal integration with a webhook URL')
      : unreadable('wrong_shape', 'the body has no `action` and `data`; it is no webhook of an integration');
  }
  const sent = ownText({ resource: headerValue(headers, 'sentry-hook-resource') }, 'resource');
  const resource = sent ?? MEMBERS.find(([member]) => own(data, member) !== undefined)?.[1];
  const deliveryId = ownText({ id: headerValue(headers, 'request-id') }, 'id');
  const doubts = sent === undefined ? ['the header Sentry-Hook-Resource is missing: the body shows what it is'] : [];
  const alert = resource === undefined ? undefined : readResource(resource, action, data, context);
  return {
    kind: alert === undefined ? 'event' : 'alerts',
    ...(deliveryId !== undefined && { deliveryId }),
    event: resource === undefined ? action : `${resource}.${action}`,
    alerts: alert === undefined ? [] : [alert],
    doubts,
    facts: inertFacts(body, context.losses),
  };
}

function readResource(
  resource: string,
  action: string,
  data: Record<string, unknown>,
  context: ReadingContext,
): HookAlert | undefined {
  if (resource === 'event_alert') return readEvent(own(data, 'event'), data, context);
  if (resource === 'error') return readEvent(own(data, 'error'), data, context);
  // An activity alert's `triggered` says which rule spoke; the issue says how it stands.
  if (resource === 'issue' || resource === 'activity_alert') return readIssue(own(data, 'issue'), context);
  if (resource === 'metric_alert') return readMetricAlert(own(data, 'metric_alert'), action, data, context);
  return undefined;
}

function readEvent(event: unknown, data: unknown, context: ReadingContext): HookAlert | undefined {
  const id = ownText(event, 'issue_id') ?? ownText(event, 'event_id');
  if (id === undefined) return undefined;
  const rule = ownText(data, 'triggered_rule');
  return {
    fingerprint: `sentry_issue:${id}`,
    status: 'firing',
    ...named(ownText(event, 'title')),
    labels: readTexts(
      { ...tagsOf(event, context.losses), ...levelOf(event), project: ownText(event, 'project') },
      context.losses,
    ),
    annotations: readTexts({ rule, culprit: ownText(event, 'culprit') }, context.losses),
    ...readTimes(own(event, 'datetime'), undefined, 'firing', context.now),
    facts: inertFacts(event, context.losses),
  };
}

function readIssue(issue: unknown, context: ReadingContext): HookAlert | undefined {
  const id = ownText(issue, 'id');
  if (id === undefined) return undefined;
  const verdict = lookUp(ISSUE_STATUS, ownText(issue, 'status'));
  const project = ownText(issue, 'project', 'slug');
  return {
    fingerprint: `sentry_issue:${id}`,
    ...verdict,
    ...named(ownText(issue, 'title')),
    labels: readTexts({ ...levelOf(issue), project, short_id: ownText(issue, 'shortId') }, context.losses),
    annotations: readTexts({ culprit: ownText(issue, 'culprit') }, context.losses),
    ...readTimes(own(issue, 'firstSeen'), undefined, verdict.status, context.now),
    facts: inertFacts(issue, context.losses),
  };
}

function readMetricAlert(
  alert: unknown,
  action: string,
  data: unknown,
  context: ReadingContext,
): HookAlert | undefined {
  const id = ownText(alert, 'alert_rule', 'id') ?? ownText(alert, 'id');
  if (id === undefined) return undefined;
  const verdict = lookUp(METRIC_ACTION, action);
  return {
    fingerprint: `sentry_metric_alert:${id}`,
    ...verdict,
    ...named(ownText(alert, 'title') ?? ownText(alert, 'alert_rule', 'name')),
    labels: readTexts({ level: action, project: ownText(alert, 'projects', '0') }, context.losses),
    annotations: readTexts({ description: ownText(data, 'description_text') }, context.losses),
    ...readTimes(own(alert, 'date_started'), own(alert, 'date_closed'), verdict.status, context.now),
    facts: inertFacts(alert, context.losses),
  };
}

function lookUp(words: Readonly<Record<string, Verdict>>, word: string | undefined): Verdict {
  if (word === undefined) return { status: 'declined', declinedReason: 'status_missing' };
  return Object.hasOwn(words, word) ? words[word]! : { status: 'declined', declinedReason: 'status_unknown' };
}

/** Sentry's tags are a list of pairs. */
function tagsOf(event: unknown, losses: Losses): Record<string, string> {
  const tags = own(event, 'tags');
  const pairs = Array.isArray(tags) ? tags.filter((pair) => typeof own(pair, '0') === 'string') : [];
  return readTexts(Object.fromEntries(pairs.map(([name, value]) => [name, value])), losses);
}

function levelOf(thing: unknown): { readonly level?: string } {
  const level = ownText(thing, 'level');
  return level === undefined ? {} : { level };
}

function named(name: string | undefined): { readonly name?: string } {
  return name === undefined ? {} : { name };
}
