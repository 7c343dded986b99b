import type { TenantQuota } from '@muster/results';
import { z } from 'zod';

const MAX_LIMIT = 2_147_483_647;
const limit = z.int().min(0).max(MAX_LIMIT).nullable();

/** All limits of a tenant; null is none. */
export const tenantQuotaSchema = z
  .strictObject({
    max_open_runs: limit.describe('Runs that are not over. One more is refused.'),
    max_subjects_per_run: limit.describe('Subjects of one run. A plan that finds more fails.'),
    max_in_flight_chunks: limit.describe('Chunks that workers have at once. More of them wait.'),
  })
  .meta({ id: 'TenantQuota' });

export type TenantQuotaView = z.infer<typeof tenantQuotaSchema>;

/** The limits as callers see them. A tenant for which nothing was set has none. */
export function describeQuota(quota: TenantQuota | undefined): TenantQuotaView {
  return {
    max_open_runs: quota?.maxOpenRuns ?? null,
    max_subjects_per_run: quota?.maxSubjectsPerRun ?? null,
    max_in_flight_chunks: quota?.maxInFlightChunks ?? null,
  };
}
