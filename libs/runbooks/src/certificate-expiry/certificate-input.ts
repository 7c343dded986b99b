/** What a run of certificate_expiry takes: a closed object. */
import { z } from 'zod';
import { inputFields } from '../inputs/input-fields.ts';

export const certificateInput = z.strictObject({
  ...inputFields({ target: 'place', subjects: 'certificates' }),
  warn_share_percent: z
    .number()
    .min(0)
    .max(100)
    .optional()
    .describe('The share of its lifetime before its end at which a certificate should be renewed. Default a third.'),
  warn_at_least_days: z
    .number()
    .min(0)
    .max(3650)
    .optional()
    .describe('At least so many days before its end. Default 3.'),
  warn_at_most_days: z
    .number()
    .min(0)
    .max(3650)
    .optional()
    .describe('At most so many days before its end. Default 30.'),
});

export type CertificateInput = z.infer<typeof certificateInput>;
