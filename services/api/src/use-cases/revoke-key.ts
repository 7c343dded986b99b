import { appendAudit, revokeApiKey } from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import type { Caller } from '../caller.ts';
import { Problem } from '../problems.ts';

/** Revokes a key of the caller's tenant. @throws Problem `key_not_found`, also when it is revoked already */
export async function revokeKey(deps: ApiDeps, { tenant, keyId }: Caller, id: string): Promise<void> {
  const now = deps.now?.() ?? new Date();
  const revoked = await deps.db.transaction(async (tx) => {
    if (!(await revokeApiKey(tx, { tenant, id, now }))) return false;
    await appendAudit(tx, { tenant, keyId, action: 'key_revoked', details: { key_id: id }, now });
    return true;
  });
  if (!revoked) throw new Problem('key_not_found', 'there is no such key, or it is revoked already');
}
