import type { InterruptionRecord } from '@muster/results';
import { z } from 'zod';
import { ROLES } from './api-key.ts';

export const interruptionSchema = z
  .object({
    run_id: z.string(),
    session_id: z.string(),
    number: z.number().int().describe('1 is the first question of the run.'),
    source: z
      .enum(['procedure', 'approval'])
      .describe('A chart that asks, or a fleet that is not assessed before somebody approves.'),
    question: z.string(),
    details: z.unknown().optional(),
    resume_schema: z.record(z.string(), z.unknown()).describe('JSON Schema of an answer.'),
    definition_digest: z.string(),
    needed_role: z.enum(ROLES).describe('Keys of this role and above may answer.'),
    self_allowed: z.boolean().describe('The key that started the run may answer too.'),
    opened_at: z.string(),
    expires_at: z.string().describe('The run ends as `cancelled` when nobody has answered by then.'),
  })
  .meta({ id: 'Interruption' });

export type InterruptionView = z.infer<typeof interruptionSchema>;

/** An open question as callers see it: never what the chart held when it asked. */
export function describeInterruption(record: InterruptionRecord): InterruptionView {
  return {
    run_id: record.runId,
    session_id: record.sessionId,
    number: record.number,
    source: record.source,
    question: record.question,
    ...(record.details !== null && { details: record.details }),
    resume_schema: record.resumeSchema as Record<string, unknown>,
    definition_digest: record.definitionDigest,
    needed_role: record.neededRole,
    self_allowed: record.selfAllowed,
    opened_at: record.openedAt.toISOString(),
    expires_at: record.expiresAt.toISOString(),
  };
}
