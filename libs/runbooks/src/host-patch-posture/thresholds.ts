/** What a run may set, with the shared defaults. */
export interface Thresholds {
  /** Updates other than security updates that may wait. */
  readonly other_updates_allowed: number;
  readonly max_index_age_seconds: number;
}

/** A week: apt's own daily job, and dnf's of 48 hours, are far below it, and a machine that was off for days is not. */
export const DEFAULT_THRESHOLDS: Thresholds = Object.freeze({
  other_updates_allowed: 0,
  max_index_age_seconds: 7 * 86_400,
});
