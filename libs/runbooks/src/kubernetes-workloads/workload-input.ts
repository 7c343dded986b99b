/** What a run of kubernetes_workloads takes: a closed object. */
import { z } from 'zod';
import { inputFields } from '../inputs/input-fields.ts';
import { DEFAULT_THRESHOLDS, type Thresholds } from './thresholds.ts';

const seconds = (what: string, fallback: number) =>
  z.int().min(0).max(31_536_000).optional().describe(`${what}, in seconds. Default ${fallback}.`);

export const workloadInput = z.strictObject({
  ...inputFields({ target: 'cluster', subjects: 'workloads' }),
  damaged: z
    .enum(['decline', 'keep'])
    .optional()
    .describe(
      'What becomes of a file that is cut off or broken: `decline` (default) gives one declined row for it, `keep` judges the pods before the damage, too.',
    ),
  ask_first: z
    .boolean()
    .optional()
    .describe('Count the workloads first, and ask for an approval before any is judged. Default false.'),
  pending_seconds: seconds('A pod that is pending for longer is stuck', DEFAULT_THRESHOLDS.pending_seconds),
  not_ready_seconds: seconds('A pod that is not ready for longer is a problem', DEFAULT_THRESHOLDS.not_ready_seconds),
  deletion_overdue_seconds: seconds(
    'A pod that is still there this long after its deletion was due is stuck',
    DEFAULT_THRESHOLDS.deletion_overdue_seconds,
  ),
  crash_recent_seconds: seconds('How long a crash counts', DEFAULT_THRESHOLDS.crash_recent_seconds),
  memory_recent_seconds: seconds('How long a kill for memory counts', DEFAULT_THRESHOLDS.memory_recent_seconds),
  retry_limit: z
    .int()
    .min(0)
    .max(1000)
    .optional()
    .describe(
      `How often a container with restart policy OnFailure may fail. Default ${DEFAULT_THRESHOLDS.retry_limit}.`,
    ),
});

export type WorkloadInput = z.infer<typeof workloadInput>;

/** The run's thresholds, or the shared defaults when the input sets none. */
export function readThresholds(input: Readonly<Record<string, unknown>>): Thresholds {
  const keys = Object.keys(DEFAULT_THRESHOLDS) as (keyof Thresholds)[];
  if (keys.every((key) => input[key] === undefined)) return DEFAULT_THRESHOLDS;
  const set = keys.map((key) => [key, input[key] ?? DEFAULT_THRESHOLDS[key]]);
  return Object.fromEntries(set) as unknown as Thresholds;
}
