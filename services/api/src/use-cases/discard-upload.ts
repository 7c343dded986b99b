import { scopeOf } from '@muster/host';
import { condemnUpload, forgetArtifact } from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';

/**
 * Undoes an upload that did not come to its end: the row is condemned first, so that nobody can commit it any more, then
 * the object goes, then the row (DESIGN decision 12). What fails here is left to the sweeper.
 */
export async function discardUpload(deps: ApiDeps, upload: { tenant: string; ref: string }): Promise<void> {
  if (!(await condemnUpload(deps.db, upload))) return;
  await deps.artifacts.delete(scopeOf(upload), upload.ref);
  await forgetArtifact(deps.db, upload.ref);
}
