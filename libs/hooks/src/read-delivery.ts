/**
 * One door for every sender's body.
 *
 * Invariants: nothing that a sender sends makes this throw; the same bytes and headers give the same reading, but for what
 * the clock says about a time in the future.
 */
import { createHash } from 'node:crypto';
import { boundDoubts, type ReadingContext } from './alert-list.ts';
import { readBodyJson } from './body-json.ts';
import { type BodyReading, type HookDelivery, type HookFormat, unreadable } from './delivery.ts';
import { type HookHeaders, headerValue } from './hook-headers.ts';
import { Losses, ownText } from './inert-json.ts';
import { readAlertmanager } from './read-alertmanager.ts';
import { readGitHub } from './read-github.ts';
import { readGrafana } from './read-grafana.ts';
import { readPagerDuty } from './read-pagerduty.ts';
import { readSentry } from './read-sentry.ts';
import { readStandard } from './read-standard.ts';

const MAX_ID_LENGTH = 256;

type Adapter = (body: unknown, headers: HookHeaders, context: ReadingContext) => BodyReading;

const ADAPTERS: Readonly<Record<HookFormat, Adapter>> = {
  alertmanager: (body, _headers, context) => readAlertmanager(body, context),
  grafana: (body, _headers, context) => readGrafana(body, context),
  pagerduty_v3: (body, _headers, context) => readPagerDuty(body, context),
  github: readGitHub,
  sentry: readSentry,
  standard: readStandard,
};

/** Where a sender's id lies. Alertmanager and Grafana have none, and send the same bytes again. */
const ID_PLACES: Readonly<Partial<Record<HookFormat, string>>> = {
  pagerduty_v3: 'body',
  github: 'x-github-delivery',
  sentry: 'request-id',
  standard: 'webhook-id',
};

/** A delivery as it came: headers, the bytes of its body, and the instant that it is read at. */
export interface RawDelivery {
  readonly headers: HookHeaders;
  readonly rawBody: Uint8Array;
  readonly now: Date;
}

/** Reads a delivery that was verified. Reading a stored one again needs no more than its redacted headers. */
export function readDelivery(format: HookFormat, delivery: RawDelivery): HookDelivery {
  const { alerts, deliveryId, doubts, facts, kind, ...rest } = readBody(format, delivery);
  return {
    format,
    kind,
    ...(deliveryId !== undefined && { deliveryId: boundId(deliveryId) }),
    deliveryDigest: bodyDigest(delivery.rawBody),
    ...rest,
    alerts: alerts.map((alert) => ({ ...alert, fingerprint: boundId(alert.fingerprint) })),
    doubts,
    facts,
  };
}

/**
 * The sender's id of a delivery, whether or not its body can be read; undefined where senders have none. Where a header has
 * it, the body is not looked at.
 */
export function deliveryIdOf(format: HookFormat, delivery: RawDelivery): string | undefined {
  const place = ID_PLACES[format];
  if (place === undefined) return undefined;
  if (place === 'body') return readDelivery(format, delivery).deliveryId;
  const id = ownText({ id: headerValue(delivery.headers, place) }, 'id');
  return id === undefined ? undefined : boundId(id);
}

/** `sha256:` and the hexadecimal digest of a raw body. */
export function bodyDigest(rawBody: Uint8Array): string {
  return `sha256:${createHash('sha256').update(rawBody).digest('hex')}`;
}

/** An id that is too long to be a key ends in its digest: cut alone, two could become one. */
function boundId(id: string): string {
  if (id.length <= MAX_ID_LENGTH) return id;
  return `${id.slice(0, 128).toWellFormed()}:${createHash('sha256').update(id).digest('hex')}`;
}

function readBody(format: HookFormat, { headers, rawBody, now }: RawDelivery): BodyReading {
  const json = readBodyJson(format, headers, rawBody);
  if ('fault' in json) return unreadable(json.fault.code, json.fault.detail);
  const losses = new Losses();
  const reading = ADAPTERS[format](json.value, headers, { now, losses });
  return { ...reading, doubts: boundDoubts([...reading.doubts, ...losses.sentences()]) };
}
