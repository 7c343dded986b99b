/** What a run may set, with the shared defaults. */
export interface Thresholds {
  readonly warn_share_percent: number;
  readonly warn_at_least_days: number;
  readonly warn_at_most_days: number;
}

/**
 * A third of the lifetime, as ACME clients renew: 30 days of 90, two weeks of 47 days. Never less than three days, which is
 * what a person needs, and which leaves a certificate of six days alone until its half; never more than a month.
 */
export const DEFAULT_THRESHOLDS: Thresholds = Object.freeze({
  warn_share_percent: 100 / 3,
  warn_at_least_days: 3,
  warn_at_most_days: 30,
});

const DAY_MS = 86_400_000;

/** How long before its end a certificate of this lifetime is to be renewed, in ms. */
export function renewalWindow(lifetimeMs: number, thresholds: Thresholds): number {
  const share = (lifetimeMs * thresholds.warn_share_percent) / 100;
  return Math.max(thresholds.warn_at_least_days * DAY_MS, Math.min(thresholds.warn_at_most_days * DAY_MS, share));
}
