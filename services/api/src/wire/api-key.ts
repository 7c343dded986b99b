import type { ApiKeyRecord } from '@muster/results';
import { z } from 'zod';

export const ROLES = ['reader', 'runner', 'approver', 'admin'] as const;

const fields = {
  key_id: z.string(),
  name: z.string(),
  role: z.enum(ROLES),
  tenant_wide: z.boolean().describe('As an agent it sees every session of the tenant, and not only its own.'),
  created_at: z.string(),
};

export const apiKeySchema = z
  .object({ ...fields, revoked_at: z.string().optional(), last_used_at: z.string().optional() })
  .meta({ id: 'ApiKey' });

export const createdKeySchema = z.object({ ...fields, key: z.string() }).meta({ id: 'CreatedApiKey' });

export type CreatedKey = z.infer<typeof createdKeySchema>;

/** A key as callers see it: without anything to open a door with. */
export function describeKey(record: ApiKeyRecord): z.infer<typeof apiKeySchema> {
  return {
    key_id: record.id,
    name: record.name,
    role: record.role,
    tenant_wide: record.tenantWide,
    created_at: record.createdAt.toISOString(),
    ...(record.revokedAt !== null && { revoked_at: record.revokedAt.toISOString() }),
    ...(record.lastUsedAt !== null && { last_used_at: record.lastUsedAt.toISOString() }),
  };
}
