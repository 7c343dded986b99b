import type { ArtifactStore } from '@muster/artifacts';
import { type Database, forgetArtifact, takeStaleArtifacts } from '@muster/results';
import type { MaintenanceService } from './maintenance-service.ts';

const STAGED_FOR_MS = 60_000;
const UNUSED_FOR_MS = 24 * 3_600_000;
const LIMIT = 200;

/** Sweeps artifacts that nobody can commit any more, and uploads that are done with: object first, row last. */
export function artifactSweeper(db: Database, store: ArtifactStore, now: () => Date): MaintenanceService {
  return {
    name: 'artifact-sweeper',
    intervalMs: 5000,
    async runOnce() {
      const at = now().getTime();
      const stale = await takeStaleArtifacts(db, {
        stagedBefore: new Date(at - STAGED_FOR_MS),
        uploadsUnusedBefore: new Date(at - UNUSED_FOR_MS),
        limit: LIMIT,
      });
      let swept = 0;
      for (const { ref, tenant, storeConversation } of stale) {
        await store.delete({ tenant, conversationId: storeConversation }, ref);
        if (await forgetArtifact(db, ref)) swept++;
      }
      return { swept };
    },
  };
}
