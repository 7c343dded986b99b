/** What a run of backup_freshness takes: a closed object. */
import { z } from 'zod';
import { inputFields } from '../inputs/input-fields.ts';
import { DEFAULT_THRESHOLDS } from './thresholds.ts';

export const backupInput = z.strictObject({
  ...inputFields({ target: 'place', subjects: 'subjects of backups' }),
  max_age_seconds: z
    .int()
    .min(60)
    .max(315_360_000)
    .optional()
    .describe(`How old the newest usable backup may be, in seconds. Default ${DEFAULT_THRESHOLDS.max_age_seconds}.`),
  stuck_after_seconds: z
    .int()
    .min(60)
    .max(315_360_000)
    .optional()
    .describe(`How long a backup may run, in seconds. Default ${DEFAULT_THRESHOLDS.stuck_after_seconds}.`),
});

export type BackupInput = z.infer<typeof backupInput>;
