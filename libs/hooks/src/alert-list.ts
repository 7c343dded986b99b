/**
 * The alerts of a group, as Alertmanager writes them and Grafana after it.
 *
 * Invariants: an alert's own status decides, never the group's; one alert that cannot be read does not hide the others; no
 * more than 1,000 are read, and the rest is counted.
 */
import { declinedByGrafana } from './datasource-state.ts';
import type { AlertStatus, BodyReading, DeclinedReason, HookAlert } from './delivery.ts';
import { inertFacts, inertText, isObject, type Losses, objectEntries, own, ownText } from './inert-json.ts';
import { labelFingerprint } from './label-fingerprint.ts';
import { readInstant } from './read-instant.ts';

export const MAX_ALERTS = 1000;
const MAX_DOUBTS = 20;

/** What reading needs beside the body. */
export interface ReadingContext {
  readonly now: Date;
  readonly losses: Losses;
}

/** The parts of a reading that come from a body's `alerts`. */
export function readAlertList(
  listed: readonly unknown[],
  body: unknown,
  context: ReadingContext,
): Pick<BodyReading, 'alerts' | 'truncated' | 'doubts'> {
  const doubts: string[] = [];
  const alerts = listed.slice(0, MAX_ALERTS).flatMap((item, at) => {
    if (isObject(item)) return [readAlert(item, context)];
    doubts.push(`alert ${at + 1} of ${listed.length} is no object and is left out`);
    return [];
  });
  if (listed.length === 0) doubts.push('the list of alerts is empty');
  const twice = alerts.length - new Set(alerts.map((alert) => alert.fingerprint)).size;
  if (twice > 0) doubts.push(`${twice} alerts have the fingerprint of another one`);
  const truncated = readTruncation(listed.length, own(body, 'truncatedAlerts'), doubts);
  return { alerts, ...(truncated !== undefined && { truncated }), doubts: boundDoubts(doubts) };
}

/** At most twenty doubts, the rest counted. */
export function boundDoubts(doubts: readonly string[]): readonly string[] {
  if (doubts.length <= MAX_DOUBTS) return doubts;
  return [...doubts.slice(0, MAX_DOUBTS - 1), `${doubts.length - MAX_DOUBTS + 1} more doubts`];
}

/** The start and the end of an alert, each as an instant or a doubt. */
export function readTimes(startsAt: unknown, endsAt: unknown, status: AlertStatus, now: Date) {
  const start = readInstant(startsAt, now);
  const end = readInstant(endsAt, now, true);
  // The zero time is how an alert says that it has no end yet.
  const endDoubt = end.doubt === 'zero_time' && status !== 'resolved' ? undefined : end.doubt;
  return {
    ...(start.at !== undefined && { startsAt: start.at }),
    ...(start.doubt !== undefined && { startsAtDoubt: start.doubt }),
    ...(end.at !== undefined && { endsAt: end.at }),
    ...(endDoubt !== undefined && { endsAtDoubt: endDoubt }),
  };
}

/** A map of texts, inert: numbers and truth values as texts, anything else left out. */
export function readTexts(value: unknown, losses: Losses): Record<string, string> {
  // No prototype: a label may be called `constructor`.
  const texts: Record<string, string> = Object.create(null);
  for (const [key, item] of Object.entries(inertFacts(value, losses))) {
    if (typeof item === 'string') texts[key] = item;
    else if (typeof item === 'number' || typeof item === 'boolean') texts[key] = String(item);
  }
  return texts;
}

function readAlert(alert: Record<string, unknown>, context: ReadingContext): HookAlert {
  const { labels: sentLabels, annotations: sentAnnotations, ...rest } = alert;
  const labels = readTexts(sentLabels, context.losses);
  const annotations = readTexts(sentAnnotations, context.losses);
  const declined = declinedByGrafana(labels, annotations, rest);
  const { status, declinedReason } = declined === undefined ? readStatus(rest.status) : asDeclined(declined);
  const name = labels.alertname;
  const value = onlyValue(rest.values);
  return {
    fingerprint: ownText(rest, 'fingerprint') ?? labelFingerprint(textsOf(sentLabels)),
    status,
    ...(declinedReason !== undefined && { declinedReason }),
    ...(name !== undefined && name !== '' && { name: inertText(name, context.losses, 256) }),
    labels,
    annotations,
    ...readTimes(rest.startsAt, rest.endsAt, status, context.now),
    ...(value !== undefined && { value }),
    facts: inertFacts(rest, context.losses),
  };
}

function readStatus(status: unknown): { status: AlertStatus; declinedReason?: DeclinedReason } {
  if (status === 'firing' || status === 'resolved') return { status };
  return asDeclined(status === undefined || status === null ? 'status_missing' : 'status_unknown');
}

function asDeclined(declinedReason: DeclinedReason): { status: AlertStatus; declinedReason: DeclinedReason } {
  return { status: 'declined', declinedReason };
}

function onlyValue(values: unknown): number | undefined {
  const numbers = objectEntries(values).map(([, value]) => value);
  return numbers.length === 1 && typeof numbers[0] === 'number' ? numbers[0] : undefined;
}

function textsOf(labels: unknown): ReadonlyMap<string, string> {
  // An object is written as JSON: asked for its text, one with a key `toString` throws.
  const textOf = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
  return new Map(objectEntries(labels).map(([name, value]) => [name, textOf(value)]));
}

function readTruncation(listed: number, sent: unknown, doubts: string[]): BodyReading['truncated'] {
  const over = Math.max(0, listed - MAX_ALERTS);
  const why = over > 0 ? [`the body lists ${listed} alerts and ${MAX_ALERTS} are the most that is read`] : [];
  if (sent === undefined || sent === null || sent === 0) return over > 0 ? { missing: over, why: why[0]! } : undefined;
  if (Number.isSafeInteger(sent) && (sent as number) > 0) {
    const missing = over + (sent as number);
    return { missing, why: [...why, `the sender cut ${sent} alerts off this group`].join('; ') };
  }
  doubts.push('truncatedAlerts is no count: how many alerts were cut off is not known');
  return {
    ...(over > 0 && { missing: over }),
    why: [...why, 'the sender may have cut alerts off this group'].join('; '),
  };
}
