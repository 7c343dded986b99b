/** The numbers that rules compare with. Each can be set by the run's input; these are the defaults. */
export interface Thresholds {
  /** A pod that is still pending after this long is stuck. */
  readonly pending_seconds: number;
  /** A running pod that is not ready for longer than this is not ready. */
  readonly not_ready_seconds: number;
  /** A pod that is still there this long after its deletion was due is stuck. */
  readonly deletion_overdue_seconds: number;
  /** A container that ended in an error this recently has crashed, even if it runs again. */
  readonly crash_recent_seconds: number;
  /** The same for a container that was killed for its memory: the next time comes with the next load. */
  readonly memory_recent_seconds: number;
  /** A container that is restarted on failure only may fail this often: a Job's own default back-off limit. */
  readonly retry_limit: number;
}

export const DEFAULT_THRESHOLDS: Thresholds = Object.freeze({
  pending_seconds: 600,
  not_ready_seconds: 600,
  deletion_overdue_seconds: 600,
  crash_recent_seconds: 3600,
  memory_recent_seconds: 86_400,
  retry_limit: 6,
});
