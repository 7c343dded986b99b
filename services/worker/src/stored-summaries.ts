/** What plan and assess leave in the results store for collect. Plain JSON, written and read by workers alone. */
import type { DryRunNote, FleetPlan, FleetTotals } from '@muster/envelope';

/** `runs.plan_summary`. */
export interface StoredPlan {
  readonly plan: Omit<FleetPlan, 'walk'>;
  /** The segment that holds the plan chart's own walk. */
  readonly walkRef?: string;
  /** What a dry run counted by target. */
  readonly targets?: DryRunNote['targets'];
}

/** `chunks.summary`. */
export interface StoredChunk {
  readonly totals: FleetTotals;
}
