import { type Database, withdrawRuns } from '@muster/results';
import type { MaintenanceService } from './maintenance-service.ts';

const LIMIT = 100;

/**
 * Stops runs whose definition no worker offers any more. Their jobs then go to any worker: what was not assessed is
 * `not_checked`, and the answer comes.
 */
export function withdrawer(db: Database, patienceMs: number, now: () => Date): MaintenanceService {
  return {
    name: 'withdrawer',
    intervalMs: 5000,
    async runOnce() {
      return { withdrawn: (await withdrawRuns(db, { now: now(), patienceMs, limit: LIMIT })).length };
    },
  };
}
