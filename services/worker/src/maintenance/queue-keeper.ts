import type { QueueBackend, QueueMark } from '@muster/queue';
import { type Database, rebuildLostQueue } from '@muster/results';
import type { MaintenanceService } from './maintenance-service.ts';

/**
 * Sees when the queue's store has lost everything, and sends all that is unfinished again, at once and in one go. What is
 * lost one by one is the reconciler's.
 */
export function queueKeeper(db: Database, backend: QueueBackend, mark: QueueMark): MaintenanceService {
  return {
    name: 'queue-keeper',
    intervalMs: 1000,
    async runOnce() {
      if (await mark.isThere()) return { runs: 0, chunks: 0 };
      const rebuilt = await rebuildLostQueue(db, {
        isLost: async () => !(await mark.isThere()),
        makeReady: () => backend.prepare(),
        noteRebuilt: () => mark.set(),
      });
      return rebuilt ?? { runs: 0, chunks: 0 };
    },
  };
}
