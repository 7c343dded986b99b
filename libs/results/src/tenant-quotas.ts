/**
 * What a tenant may have at most. A tenant without a row has no limits.
 *
 * Invariant: whoever accepts a run holds the tenant's row until it commits, so two acceptances cannot both take the last
 * place.
 */

import type { Queryable, Tx } from './database.ts';
import { QuotaExceededError } from './errors.ts';

export type QuotaName = 'max_open_runs' | 'max_subjects_per_run' | 'max_in_flight_chunks';

/** A tenant's limits; null is no limit. */
export interface TenantQuota {
  /** Runs that are not final. Refused at acceptance. */
  readonly maxOpenRuns: number | null;
  /** Subjects that a plan may count. Refused when it is frozen. */
  readonly maxSubjectsPerRun: number | null;
  /** Chunks that are sent and not settled, whatever their priority. More of them wait. */
  readonly maxInFlightChunks: number | null;
}

const QUOTA_COLUMNS = `max_open_runs as "maxOpenRuns", max_subjects_per_run as "maxSubjectsPerRun",
  max_in_flight_chunks as "maxInFlightChunks"`;

/** Sets all limits of a tenant. What is under way already stays. */
export async function setTenantQuota(
  db: Queryable,
  quota: TenantQuota & { readonly tenant: string; readonly now?: Date },
): Promise<void> {
  await db.query(
    `insert into muster.tenant_quotas (tenant, max_open_runs, max_subjects_per_run, max_in_flight_chunks, updated_at)
      values ($1, $2, $3, $4, $5)
      on conflict (tenant) do update set max_open_runs = excluded.max_open_runs,
        max_subjects_per_run = excluded.max_subjects_per_run, max_in_flight_chunks = excluded.max_in_flight_chunks,
        updated_at = excluded.updated_at`,
    [quota.tenant, quota.maxOpenRuns, quota.maxSubjectsPerRun, quota.maxInFlightChunks, quota.now ?? new Date()],
  );
}

/** A tenant's limits; undefined when it has none. */
export async function getTenantQuota(db: Queryable, tenant: string): Promise<TenantQuota | undefined> {
  const { rows } = await db.query<TenantQuota>(`select ${QUOTA_COLUMNS} from muster.tenant_quotas where tenant = $1`, [
    tenant,
  ]);
  return rows[0];
}

/** The limits under a lock that the next acceptance of this tenant waits for. */
export async function lockTenantQuota(tx: Tx, tenant: string): Promise<TenantQuota | undefined> {
  const { rows } = await tx.query<TenantQuota>(
    `select ${QUOTA_COLUMNS} from muster.tenant_quotas where tenant = $1 for no key update`,
    [tenant],
  );
  return rows[0];
}

/** True when a tenant has as many runs open as it may. The caller holds {@link lockTenantQuota}. */
export async function hasNoRunLeft(tx: Tx, tenant: string, maxOpenRuns: number): Promise<boolean> {
  const { rows } = await tx.query<{ open: number }>(
    `select count(*) as open from (
      select from muster.runs where tenant = $1 and phase <> 'done' limit $2
    ) open`,
    [tenant, maxOpenRuns],
  );
  return rows[0]!.open >= maxOpenRuns;
}

/** @throws QuotaExceededError when a plan counted more subjects than its tenant may have in a run */
export async function checkSubjectQuota(tx: Tx, tenant: string, total: number): Promise<void> {
  const limit = (await getTenantQuota(tx, tenant))?.maxSubjectsPerRun ?? null;
  if (limit !== null && total > limit) throw new QuotaExceededError('max_subjects_per_run', limit, total);
}
