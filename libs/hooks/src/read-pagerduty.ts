/** PagerDuty's webhooks, version 3: one event a body. Its id is in the signed body. */
import { type ReadingContext, readTexts, readTimes } from './alert-list.ts';
import { type AlertStatus, type BodyReading, type HookAlert, unreadable } from './delivery.ts';
import { inertFacts, isObject, own, ownText } from './inert-json.ts';

const STATUS: Readonly<Record<string, AlertStatus>> = {
  triggered: 'firing',
  acknowledged: 'firing',
  resolved: 'resolved',
};
const WITH_STATUS = new Set(['incident', 'alert']);

export function readPagerDuty(body: unknown, context: ReadingContext): BodyReading {
  if (Array.isArray(own(body, 'messages'))) {
    return unreadable('other_version', 'this is a webhook of version 2; subscribe to version 3 (Generic Webhooks)');
  }
  const event = own(body, 'event');
  const type = ownText(event, 'event_type');
  if (!isObject(event) || type === undefined) {
    return unreadable('wrong_shape', 'the body has no `event` with an `event_type`; it is no webhook of version 3');
  }
  const id = ownText(event, 'id');
  const read = { ...(id !== undefined && { deliveryId: id }), event: type, facts: inertFacts(body, context.losses) };
  const doubts = id === undefined ? ['the event has no id'] : [];
  if (type === 'pagey.ping') return { kind: 'ping', ...read, alerts: [], doubts };
  const alert = WITH_STATUS.has(ownText(event, 'data', 'type') ?? '') ? readIncident(event, context) : undefined;
  if (alert === undefined) return { kind: 'event', ...read, alerts: [], doubts };
  return { kind: 'alerts', ...read, alerts: [alert], doubts };
}

function readIncident(event: unknown, context: ReadingContext): HookAlert | undefined {
  const data = own(event, 'data');
  const id = ownText(data, 'id');
  if (id === undefined) return undefined;
  const sent = ownText(data, 'status');
  const known = sent !== undefined && Object.hasOwn(STATUS, sent) ? STATUS[sent] : undefined;
  const status = known ?? 'declined';
  const name = ownText(data, 'title') ?? ownText(data, 'summary');
  const labels = readTexts(
    {
      service: ownText(data, 'service', 'summary') ?? null,
      service_id: ownText(data, 'service', 'id') ?? null,
      urgency: ownText(data, 'urgency') ?? null,
      priority: ownText(data, 'priority', 'summary') ?? null,
      incident_key: ownText(data, 'incident_key') ?? null,
    },
    context.losses,
  );
  return {
    fingerprint: `pagerduty_${ownText(data, 'type')}:${id}`,
    status,
    ...(known === undefined && { declinedReason: sent === undefined ? 'status_missing' : 'status_unknown' }),
    ...(name !== undefined && { name }),
    labels,
    annotations: {},
    ...readTimes(
      own(data, 'created_at'),
      status === 'resolved' ? own(event, 'occurred_at') : undefined,
      status,
      context.now,
    ),
    facts: inertFacts(data, context.losses),
  };
}
