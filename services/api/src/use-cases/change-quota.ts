import { appendAudit, setTenantQuota } from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import type { Caller } from '../caller.ts';
import type { TenantQuotaView } from '../wire/tenant-quota.ts';

/** Sets all limits of the caller's tenant. */
export async function changeQuota(deps: ApiDeps, { tenant, keyId }: Caller, quota: TenantQuotaView): Promise<void> {
  const now = deps.now?.() ?? new Date();
  await deps.db.transaction(async (tx) => {
    await setTenantQuota(tx, {
      tenant,
      maxOpenRuns: quota.max_open_runs,
      maxSubjectsPerRun: quota.max_subjects_per_run,
      maxInFlightChunks: quota.max_in_flight_chunks,
      now,
    });
    await appendAudit(tx, { tenant, keyId, action: 'quota_set', details: { ...quota }, now });
  });
}
