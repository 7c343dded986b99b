import { type Database, sealOverdue } from '@muster/results';
import type { MaintenanceService } from './maintenance-service.ts';

const LIMIT = 100;

/**
 * Seals runs that are past their deadline. Their chunks are then claimed as ever and settle at once: what was not
 * assessed is `not_checked` for the deadline, and the answer comes.
 */
export function reaper(db: Database, now: () => Date): MaintenanceService {
  return {
    name: 'reaper',
    intervalMs: 1000,
    async runOnce() {
      return { sealed: (await sealOverdue(db, { now: now(), limit: LIMIT })).length };
    },
  };
}
