/**
 * From a delivery to the runs that it asks for.
 *
 * Invariants: every alert ends in a run or in `skipped`, by name and with the reason; an alert that lacks a fact hides no
 * other; the same delivery gives the same runs in the same order.
 */
import { createHash } from 'node:crypto';
import type { HookAlert, HookDelivery, HookJson } from './delivery.ts';
import type { Hook, HookCondition } from './hook-definition.ts';
import { fillTemplate } from './input-template.ts';
import { pickValue } from './pick-value.ts';

/** One run that a delivery asks for. */
export interface MappedRun {
  /** What the run is about. */
  readonly subjectKey: string;
  /** With `collapse`: what later deliveries join this run by, for as long as the hook says. */
  readonly collapseKey?: string;
  /** Not yet checked against the runbook's own schema. */
  readonly input: HookJson;
  /** Fingerprints of the alerts that are this run's, the one that made the input first. Empty for an event. */
  readonly alerts: readonly string[];
  /** Alerts that joined this run although their input would have been another. */
  readonly otherInputs?: number;
}

export type SkipCode =
  | 'unreadable'
  | 'ping'
  | 'no_alerts'
  | 'event_not_asked'
  | 'status_not_asked'
  | 'label_not_asked'
  | 'fact_missing'
  | 'fact_wrong_type'
  | 'subject_missing'
  | 'subject_too_long';

/** An alert, or with null the delivery itself, that starts no run. */
export interface SkippedAlert {
  readonly fingerprint: string | null;
  readonly code: SkipCode;
  readonly reason: string;
}

export interface MappedDelivery {
  readonly runs: readonly MappedRun[];
  readonly skipped: readonly SkippedAlert[];
}

const MAX_KEY_LENGTH = 512;

/** Maps a delivery by a hook. Never throws for what a sender sent. */
export function mapDelivery(hook: Hook, delivery: HookDelivery): MappedDelivery {
  const whole = skipWhole(hook, delivery);
  if (whole !== undefined) return { runs: [], skipped: [whole] };
  const runs = new Map<string, MappedRun>();
  const skipped: SkippedAlert[] = [];
  const sources = delivery.kind === 'event' ? [undefined] : delivery.alerts;
  sources.forEach((alert, at) => {
    const mapped = mapOne(hook, delivery, alert);
    if ('code' in mapped) skipped.push({ fingerprint: alert?.fingerprint ?? null, ...mapped });
    // Without collapse each alert has a run of its own.
    else join(runs, mapped.collapseKey ?? `alert ${at}`, mapped);
  });
  return { runs: [...runs.values()], skipped };
}

function skipWhole(hook: Hook, delivery: HookDelivery): SkippedAlert | undefined {
  const skip = (code: SkipCode, reason: string) => ({ fingerprint: null, code, reason });
  if (delivery.kind === 'unreadable') return skip('unreadable', delivery.unreadable?.detail ?? 'the body says nothing');
  if (delivery.kind === 'ping') return skip('ping', 'a test of the connection asks for nothing');
  if (!asksForEvent(hook.when?.event, delivery.event)) {
    return skip('event_not_asked', `the hook does not ask for the event ${delivery.event ?? '(none)'}`);
  }
  if (delivery.kind === 'alerts' && delivery.alerts.length === 0)
    return skip('no_alerts', 'the delivery has no alerts');
  return undefined;
}

type Skip = Omit<SkippedAlert, 'fingerprint'>;

function mapOne(hook: Hook, delivery: HookDelivery, alert: HookAlert | undefined): MappedRun | Skip {
  const unasked = checkCondition(hook.when, alert);
  if (unasked !== undefined) return unasked;
  const source = { delivery, alert };
  const filled = fillTemplate(hook.input, source);
  if (filled.is !== 'input') {
    return { code: filled.is === 'missing' ? 'fact_missing' : 'fact_wrong_type', reason: filled.reason };
  }
  const subject = subjectOf(hook, delivery, alert);
  if (typeof subject !== 'string') return subject;
  const collapseKey = collapseKeyOf(hook, delivery, alert, subject);
  return {
    subjectKey: subject,
    ...(collapseKey !== undefined && { collapseKey }),
    input: filled.input,
    alerts: alert === undefined ? [] : [alert.fingerprint],
  };
}

function checkCondition(when: HookCondition | undefined, alert: HookAlert | undefined): Skip | undefined {
  if (alert === undefined) {
    if (when?.status !== undefined)
      return { code: 'status_not_asked', reason: 'the hook asks for a status; an event has none' };
  } else if (!(when?.status ?? ['firing']).includes(alert.status)) {
    const why = alert.declinedReason === undefined ? '' : ` (${alert.declinedReason})`;
    return { code: 'status_not_asked', reason: `the hook does not ask for the status ${alert.status}${why}` };
  }
  for (const [label, words] of Object.entries(when?.labels ?? {})) {
    const value = alert !== undefined && Object.hasOwn(alert.labels, label) ? alert.labels[label]! : undefined;
    const fits = value !== undefined && (typeof words === 'string' ? [words] : words).includes(value);
    if (!fits) return { code: 'label_not_asked', reason: `the label ${label} is none that the hook asks for` };
  }
  return undefined;
}

function asksForEvent(asked: string | readonly string[] | undefined, event: string | undefined): boolean {
  if (asked === undefined) return true;
  const words = typeof asked === 'string' ? [asked] : asked;
  return event !== undefined && words.some((word) => event === word || event.startsWith(`${word}.`));
}

function subjectOf(hook: Hook, delivery: HookDelivery, alert: HookAlert | undefined): string | Skip {
  if (hook.subject === undefined) return alert?.fingerprint ?? delivery.deliveryId ?? delivery.deliveryDigest;
  const picked = pickValue({ as: 'string', ...hook.subject }, { delivery, alert });
  if (picked.is !== 'value') return { code: 'subject_missing', reason: `${picked.reason}; subject needs it` };
  const subject = String(picked.value).trim();
  if (subject === '') return { code: 'subject_missing', reason: 'the subject is empty' };
  if (subject.length <= MAX_KEY_LENGTH) return subject;
  return { code: 'subject_too_long', reason: `the subject has more than ${MAX_KEY_LENGTH} characters` };
}

function collapseKeyOf(
  { collapse }: Hook,
  delivery: HookDelivery,
  alert: HookAlert | undefined,
  subject: string,
): string | undefined {
  if (collapse === undefined) return undefined;
  if (collapse.by === 'subject') return keyOf('subject', subject);
  if (collapse.by === 'fingerprint') return keyOf('fingerprint', alert?.fingerprint ?? subject);
  return keyOf('group', delivery.groupKey ?? delivery.deliveryId ?? delivery.deliveryDigest);
}

function keyOf(by: string, text: string): string {
  const short = text.length <= MAX_KEY_LENGTH ? text : createHash('sha256').update(text).digest('hex');
  return `${by}:${short}`;
}

function join(runs: Map<string, MappedRun>, key: string, run: MappedRun): void {
  const before = runs.get(key);
  if (before === undefined) {
    runs.set(key, run);
    return;
  }
  const differs = JSON.stringify(before.input) !== JSON.stringify(run.input);
  const otherInputs = (before.otherInputs ?? 0) + (differs ? 1 : 0);
  runs.set(key, { ...before, alerts: [...before.alerts, ...run.alerts], ...(otherInputs > 0 && { otherInputs }) });
}
