import { scopeOf } from '@muster/host';
import { forgetArtifact } from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';

/**
 * Undoes an upload that did not come to its end: the row is condemned first, so that nobody can commit it any more, then
 * the object goes, then the row (DESIGN decision 12). What fails here is left to the sweeper.
 */
export async function discardUpload(deps: ApiDeps, upload: { tenant: string; ref: string }): Promise<void> {
  const { rowCount } = await deps.db.query(
    `update muster.artifacts set state = 'deleting'
      where ref = $1 and tenant = $2 and purpose = 'upload' and state = 'staged'`,
    [upload.ref, upload.tenant],
  );
  if (rowCount === 0) return;
  await deps.artifacts.delete(scopeOf(upload), upload.ref);
  await forgetArtifact(deps.db, upload.ref);
}
