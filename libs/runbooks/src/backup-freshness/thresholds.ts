/** What a run may set, with the shared defaults. */
export interface Thresholds {
  readonly max_age_seconds: number;
  readonly stuck_after_seconds: number;
}

/** A day and two hours: a nightly backup that takes a little longer than yesterday's is no problem. */
export const DEFAULT_THRESHOLDS: Thresholds = Object.freeze({
  max_age_seconds: 26 * 3600,
  stuck_after_seconds: 24 * 3600,
});
