/** Prometheus Alertmanager's webhook, version 4; versions 2 and 3 are read with a doubt. */
import { type ReadingContext, readAlertList } from './alert-list.ts';
import { type BodyReading, unreadable } from './delivery.ts';
import { inertFacts, isObject, own, ownText } from './inert-json.ts';

const OLD_VERSIONS = new Set(['1', '2', '3']);

export function readAlertmanager(body: unknown, context: ReadingContext): BodyReading {
  const wrong = otherBody(body);
  if (wrong !== undefined) return wrong;
  const { alerts, ...group } = body as { readonly alerts: readonly unknown[] };
  const groupKey = ownText(group, 'groupKey');
  const list = readAlertList(alerts, body, context);
  const doubts = [...versionDoubts(ownText(group, 'version')), ...list.doubts];
  return {
    kind: 'alerts',
    ...list,
    doubts,
    ...(groupKey !== undefined && { groupKey }),
    facts: inertFacts(group, context.losses),
  };
}

function otherBody(body: unknown): BodyReading | undefined {
  if (Array.isArray(body)) return apiList(body);
  if (!isObject(body)) return unreadable('wrong_shape', 'the body must be an object with a list `alerts`');
  if (own(body, 'status') === 'success' && own(body, 'data') !== undefined) {
    return unreadable(
      'not_a_webhook',
      'this is an answer of an HTTP API, saved; a webhook has a list `alerts` of its own',
    );
  }
  if (!Array.isArray(own(body, 'alerts'))) {
    return unreadable('wrong_shape', 'the body has no list `alerts`; it is no webhook of Alertmanager');
  }
  if (own(body, 'orgId') !== undefined) {
    return unreadable('other_format', 'this is a body of Grafana; declare the hook with the format grafana');
  }
  const version = ownText(body, 'version');
  if (version === undefined || version === '4' || OLD_VERSIONS.has(version)) return undefined;
  return unreadable('other_version', 'the payload version is none of 1 to 4');
}

function apiList(body: readonly unknown[]): BodyReading {
  const ofApi = body.some((item) => isObject(item) && (isObject(item.status) || isObject(item.labels)));
  return ofApi
    ? unreadable(
        'not_a_webhook',
        'this is a list of alerts of the API (/api/v2/alerts), not a webhook; set a webhook_config as the receiver',
      )
    : unreadable('wrong_shape', 'the body is a list; a webhook of Alertmanager is an object with a list `alerts`');
}

function versionDoubts(version: string | undefined): string[] {
  if (version === '4') return [];
  if (version === undefined) return ['the payload version is missing; the body is read as version 4'];
  return [`the payload has version ${version}, which old senders write; it is read as far as it agrees with version 4`];
}
