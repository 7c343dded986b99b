/** Schedules as the API shows them, as much of it as is printed. */

/** A schedule. */
export interface ScheduleView {
  readonly name: string;
  readonly runbook: string;
  readonly version: string | null;
  readonly input?: unknown;
  readonly described: string;
  readonly overlap: string;
  readonly jitter_seconds: number;
  readonly catch_up_seconds: number;
  readonly pause_after_failures: number | null;
  readonly state: 'active' | 'paused';
  readonly paused?: { readonly reason: string };
  readonly failures: number;
  readonly next_due_at?: string;
  readonly next?: readonly { readonly due_at: string }[];
  readonly source: string;
}

/** What became of a slot of a schedule. */
export interface TickView {
  readonly slot: string;
  readonly trigger: 'schedule' | 'manual';
  readonly state: 'queued' | 'started' | 'skipped' | 'missed' | 'refused';
  readonly run_id?: string;
  readonly run_status?: string;
  readonly reason?: string;
}
