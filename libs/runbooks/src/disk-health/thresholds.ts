/** What a run may set, with the shared defaults. */
export interface Thresholds {
  readonly pending_allowed: number;
  readonly uncorrectable_allowed: number;
  readonly reallocated_allowed: number;
  readonly grown_defects_allowed: number;
  readonly media_errors_allowed: number;
  readonly wear_limit_percent: number;
  readonly max_temperature: number;
  readonly max_temperature_nvme: number;
}

/**
 * A sector that waits to be reallocated holds data that could not be read: none is fine. A few reallocated ones are what the
 * spares are for; tens are a disk on its way. SATA and SAS drives are rated up to 60 °C or so, NVMe throttles at 80 or so.
 */
export const DEFAULT_THRESHOLDS: Thresholds = Object.freeze({
  pending_allowed: 0,
  uncorrectable_allowed: 0,
  reallocated_allowed: 50,
  grown_defects_allowed: 50,
  media_errors_allowed: 0,
  wear_limit_percent: 100,
  max_temperature: 65,
  max_temperature_nvme: 80,
});
