/** What a run of host_patch_posture takes: a closed object. */
import { z } from 'zod';
import { inputFields } from '../inputs/input-fields.ts';
import { DEFAULT_THRESHOLDS } from './thresholds.ts';

export const patchInput = z.strictObject({
  ...inputFields({ target: 'host', subjects: 'hosts' }),
  other_updates_allowed: z
    .int()
    .min(0)
    .max(10_000)
    .optional()
    .describe(
      `How many updates other than security updates may wait. Default ${DEFAULT_THRESHOLDS.other_updates_allowed}.`,
    ),
  max_index_age_seconds: z
    .int()
    .min(60)
    .max(31_536_000)
    .optional()
    .describe(
      `From a package index older than this, no update is not an answer. In seconds. Default ${DEFAULT_THRESHOLDS.max_index_age_seconds}.`,
    ),
  require_index_age: z
    .boolean()
    .optional()
    .describe(
      'Whether a transcript that does not tell the age of the package index is declined, too. Default false: then it is said.',
    ),
});

export type PatchInput = z.infer<typeof patchInput>;
