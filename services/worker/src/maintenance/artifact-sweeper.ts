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
      const counts = { swept: 0, stuck: 0 };
      for (const { ref, tenant, storeConversation } of stale) {
        // One object that cannot be deleted must not hold up the others; its row stays for the next round.
        const gone = await store.delete({ tenant, conversationId: storeConversation }, ref).then(
          () => true,
          () => false,
        );
        if (!gone) counts.stuck++;
        else if (await forgetArtifact(db, ref)) counts.swept++;
      }
      return counts;
    },
  };
}
