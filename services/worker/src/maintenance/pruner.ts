import {
  condemnOldRuns,
  type Database,
  dropEmptyPartitions,
  forgetDeliveries,
  forgetMutes,
  forgetNotices,
  forgetRuns,
  forgetTicks,
} from '@muster/results';
import type { MaintenanceService } from './maintenance-service.ts';

const DAY_MS = 86_400_000;
const LIMIT = 50;
const DELIVERY_LIMIT = 1000;
const NOTICE_LIMIT = 1000;
const TICKS_LIMIT = 5_000;

/**
 * Prunes old runs: their artifacts are condemned first, the sweeper deletes them, and the rows go last. The newest
 * finished sweep of each scope stays. Deliveries of webhooks, notices, mutes that are over and rows of schedules' ledgers
 * go as old as runs do.
 */
export function pruner(db: Database, retentionDays: number, now: () => Date): MaintenanceService {
  return {
    name: 'pruner',
    intervalMs: 60_000,
    async runOnce() {
      const finishedBefore = new Date(now().getTime() - retentionDays * DAY_MS);
      const condemned = await condemnOldRuns(db, { finishedBefore, limit: LIMIT });
      const forgotten = await forgetRuns(db, condemned);
      const dropped = await dropEmptyPartitions(db, { before: finishedBefore });
      const deliveries = await forgetDeliveries(db, { doneBefore: finishedBefore, limit: DELIVERY_LIMIT });
      const notices = await forgetNotices(db, finishedBefore, NOTICE_LIMIT);
      const mutes = await forgetMutes(db, finishedBefore);
      const ticks = await forgetTicks(db, { decidedBefore: finishedBefore, limit: TICKS_LIMIT });
      return { forgotten: forgotten.length, dropped: dropped.length, deliveries, notices, mutes, ticks };
    },
  };
}
