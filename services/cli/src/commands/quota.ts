import type { ApiClient, QuotaView } from '../api-client.ts';
import { EXIT } from '../exit-codes.ts';
import { print } from '../output/print.ts';

export interface QuotaOptions {
  readonly maxOpenRuns?: Limit;
  readonly maxSubjectsPerRun?: Limit;
  readonly maxInFlightChunks?: Limit;
  readonly json?: boolean;
}

type Limit = number | 'none';

/** `muster quota`: shows the limits of the tenant, those that are given set first. */
export async function quotaCommand(api: ApiClient, options: QuotaOptions): Promise<number> {
  const { maxOpenRuns, maxSubjectsPerRun, maxInFlightChunks, json } = options;
  const given = {
    ...(maxOpenRuns !== undefined && { max_open_runs: limitOf(maxOpenRuns) }),
    ...(maxSubjectsPerRun !== undefined && { max_subjects_per_run: limitOf(maxSubjectsPerRun) }),
    ...(maxInFlightChunks !== undefined && { max_in_flight_chunks: limitOf(maxInFlightChunks) }),
  };
  const before = await api.getQuota();
  const quota = Object.keys(given).length === 0 ? before : await api.setQuota({ ...before, ...given });
  await print(json ? JSON.stringify(quota) : page(quota));
  return EXIT.ok;
}

function limitOf(limit: Limit): number | null {
  return limit === 'none' ? null : limit;
}

function page(quota: QuotaView): string {
  const lines: [string, number | null][] = [
    ['runs that are not over', quota.max_open_runs],
    ['subjects of one run', quota.max_subjects_per_run],
    ['chunks under way', quota.max_in_flight_chunks],
  ];
  return lines
    .map(([what, limit]) => `${what.padEnd(24)}${limit === null ? 'no limit' : `at most ${limit}`}`)
    .join('\n');
}
