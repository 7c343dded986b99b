import { type Database, ensurePartitions, heartbeatWorker, pruneWorkers } from '@muster/results';
import type { MaintenanceService } from './maintenance-service.ts';

const FORGOTTEN_AFTER_MS = 3_600_000;

/** Says that this worker lives and which definitions it offers. */
export function workerHeartbeat(
  db: Database,
  id: string,
  digests: readonly string[],
  now: () => Date,
): MaintenanceService {
  return {
    name: 'heartbeat',
    intervalMs: 5000,
    async runOnce() {
      await heartbeatWorker(db, { id, digests, now: now() });
      return { pruned: await pruneWorkers(db, { seenBefore: new Date(now().getTime() - FORGOTTEN_AFTER_MS) }) };
    },
  };
}

/** Makes the partitions of the coming months before they are needed. */
export function partitionKeeper(db: Database, now: () => Date): MaintenanceService {
  return {
    name: 'partitions',
    intervalMs: 3_600_000,
    async runOnce() {
      return { created: (await ensurePartitions(db, now())).length };
    },
  };
}
