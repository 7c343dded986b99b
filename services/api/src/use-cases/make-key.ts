import { type ApiRole, appendAudit, createApiKey } from '@muster/results';
import type { ApiDeps } from '../api-deps.ts';
import type { Caller } from '../caller.ts';
import type { CreatedKey } from '../wire/api-key.ts';

export interface KeyRequest {
  readonly name: string;
  readonly role: ApiRole;
  readonly tenant_wide?: boolean | undefined;
}

/** Makes a key of the caller's tenant. It is shown in this answer and never again. */
export async function makeKey(deps: ApiDeps, caller: Caller, request: KeyRequest): Promise<CreatedKey> {
  const { name, role, tenant_wide: tenantWide = false } = request;
  const now = deps.now?.() ?? new Date();
  const { id, key } = await deps.db.transaction(async (tx) => {
    const made = await createApiKey(tx, { tenant: caller.tenant, name, role, tenantWide, now });
    const details = { key_id: made.id, name, role, tenant_wide: tenantWide };
    await appendAudit(tx, { tenant: caller.tenant, keyId: caller.keyId, action: 'key_made', details, now });
    return made;
  });
  return { key_id: id, name, role, tenant_wide: tenantWide, created_at: now.toISOString(), key };
}
