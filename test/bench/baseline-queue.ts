/** The queue of the baseline and its schema on PostgreSQL, away from everything that is Muster's. */
export const BASELINE_QUEUE = 'baseline';
export const BASELINE_SCHEMA = 'baseline_queue';
