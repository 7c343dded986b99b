import { type Database, sweepToolLimits } from '@muster/results';
import type { MaintenanceService } from './maintenance-service.ts';

const LIMIT = 1000;

/** Forgets permits of workers that are gone, and limits of tools that nobody calls any more. */
export function permitSweeper(db: Database): MaintenanceService {
  return {
    name: 'permit-sweeper',
    intervalMs: 60_000,
    async runOnce() {
      return { swept: await sweepToolLimits(db, { limit: LIMIT }) };
    },
  };
}
