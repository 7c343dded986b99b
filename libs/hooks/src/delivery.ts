/**
 * What a sender's body says, in one form for all senders.
 *
 * Invariants: each alert has a status of its own, whatever its group's is; what could not be read is said (`unreadable`,
 * `truncated`, `doubts`, `declined`) and never taken for a problem or for its end.
 */

/** The bodies that are understood. */
export const HOOK_FORMATS = Object.freeze([
  'alertmanager',
  'grafana',
  'pagerduty_v3',
  'github',
  'sentry',
  'standard',
] as const);

export type HookFormat = (typeof HOOK_FORMATS)[number];

/** JSON as it came, made inert: no control or invisible characters, bounded texts, no prototypes. */
export type HookJson = null | boolean | number | string | readonly HookJson[] | HookFacts;
export interface HookFacts {
  readonly [key: string]: HookJson;
}

/**
 * `alerts`: things with a status, in `alerts`. `event`: something happened; `facts` tell what. `ping`: a test of the
 * connection, which asks for nothing. `unreadable`: nothing can be told, and `unreadable` says why.
 */
export type DeliveryKind = 'alerts' | 'event' | 'ping' | 'unreadable';

export type UnreadableCode =
  | 'body_empty'
  | 'body_too_large'
  | 'body_too_deep'
  | 'body_encoded'
  | 'body_not_text'
  | 'body_form_encoded'
  | 'body_cut_off'
  | 'body_not_json'
  | 'not_a_webhook'
  | 'other_format'
  | 'other_version'
  | 'wrong_shape';

/** Why a body says nothing, in a sentence that tells what to change at the sender. */
export interface Unreadable {
  readonly code: UnreadableCode;
  readonly detail: string;
}

/** `firing` and `resolved` are what the sender knows; `declined` means that it does not know, with the reason. */
export type AlertStatus = 'firing' | 'resolved' | 'declined';

/**
 * Why an alert tells nothing about its subject: the source had no data, could not be asked, gave only nulls, or the series
 * went away; the rule was paused, changed or deleted; a person muted it; it ended without a result; or its status is not
 * one that is known.
 */
export type DeclinedReason =
  | 'no_data'
  | 'datasource_error'
  | 'values_null'
  | 'missing_series'
  | 'rule_paused'
  | 'rule_changed'
  | 'rule_deleted'
  | 'pending'
  | 'muted'
  | 'no_result'
  | 'status_missing'
  | 'status_unknown';

/** Why a time is no instant to reckon with. */
export type InstantDoubt = 'zero_time' | 'epoch' | 'in_the_future' | 'no_zone' | 'not_a_time';

/** One alert. */
export interface HookAlert {
  /** The sender's, else made from the labels: the same alert has the same one in every delivery. */
  readonly fingerprint: string;
  readonly status: AlertStatus;
  /** With `declined` alone. */
  readonly declinedReason?: DeclinedReason;
  readonly name?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** RFC 3339, UTC. */
  readonly startsAt?: string;
  readonly startsAtDoubt?: InstantDoubt;
  readonly endsAt?: string;
  readonly endsAtDoubt?: InstantDoubt;
  /** The measured value, where there is exactly one. */
  readonly value?: number;
  /** What else the sender says of this alert. */
  readonly facts: HookFacts;
}

/** A delivery, read. */
export interface HookDelivery {
  readonly format: HookFormat;
  readonly kind: DeliveryKind;
  readonly unreadable?: Unreadable;
  /** The sender's id of this delivery. Only Standard Webhooks and PagerDuty sign theirs. */
  readonly deliveryId?: string;
  /** `sha256:` and the hexadecimal digest of the raw body. */
  readonly deliveryDigest: string;
  /** What happened, such as `check_run.completed`. */
  readonly event?: string;
  readonly alerts: readonly HookAlert[];
  /** What binds the alerts together for the sender. */
  readonly groupKey?: string;
  /** Alerts that are not here: cut by the sender, or past our bound. */
  readonly truncated?: { readonly missing?: number; readonly why: string };
  /** What is odd about the body, each in a sentence. */
  readonly doubts: readonly string[];
  /** The body without its alerts. */
  readonly facts: HookFacts;
}

/** What an adapter says; the door adds the format and the digest. */
export type BodyReading = Omit<HookDelivery, 'format' | 'deliveryDigest'>;

/** A body that says nothing. */
export function unreadable(code: UnreadableCode, detail: string): BodyReading {
  return { kind: 'unreadable', unreadable: { code, detail }, alerts: [], doubts: [], facts: {} };
}
