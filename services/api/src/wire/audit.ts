import type { AuditRecord } from '@muster/results';
import { z } from 'zod';

export const auditEntrySchema = z
  .object({
    at: z.string(),
    action: z.string(),
    key_id: z.string().optional().describe('Missing where Muster itself acted.'),
    run_id: z.string().optional(),
    interruption_id: z.string().optional(),
    details: z.unknown().optional(),
  })
  .meta({ id: 'AuditEntry' });

export type AuditEntry = z.infer<typeof auditEntrySchema>;

/** An entry as admins see it. */
export function describeAudit(record: AuditRecord): AuditEntry {
  return {
    at: record.at.toISOString(),
    action: record.action,
    ...(record.keyId !== null && { key_id: record.keyId }),
    ...(record.runId !== null && { run_id: record.runId }),
    ...(record.interruptionId !== null && { interruption_id: record.interruptionId }),
    ...(record.details !== null && { details: record.details }),
  };
}
