import { type Database, expireInterruptions } from '@muster/results';
import type { MaintenanceService } from './maintenance-service.ts';

const LIMIT = 100;

/** Ends the runs whose questions nobody answered in time: what was not assessed is `not_checked`, and the answer comes. */
export function expirer(db: Database, now: () => Date): MaintenanceService {
  return {
    name: 'expirer',
    intervalMs: 1000,
    async runOnce() {
      return { expired: (await expireInterruptions(db, { now: now(), limit: LIMIT })).length };
    },
  };
}
