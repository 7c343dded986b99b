/** Any JSON object that came by Standard Webhooks: its `type` is the event, its `webhook-id` the delivery's id. */
import type { ReadingContext } from './alert-list.ts';
import { type BodyReading, unreadable } from './delivery.ts';
import { type HookHeaders, headerValue } from './hook-headers.ts';
import { inertFacts, isObject, ownText } from './inert-json.ts';

export function readStandard(body: unknown, headers: HookHeaders, context: ReadingContext): BodyReading {
  if (!isObject(body)) return unreadable('wrong_shape', 'the body must be a JSON object');
  const deliveryId = ownText({ id: headerValue(headers, 'webhook-id') }, 'id');
  const event = ownText(body, 'type');
  return {
    kind: 'event',
    ...(deliveryId !== undefined && { deliveryId }),
    ...(event !== undefined && { event }),
    alerts: [],
    doubts: event === undefined ? ['the body has no `type`: what happened is not known'] : [],
    facts: inertFacts(body, context.losses),
  };
}
