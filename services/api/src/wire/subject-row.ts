import type { SubjectRecord } from '@muster/results';
import { z } from 'zod';

export const OUTCOMES = ['verdict', 'declined', 'not_checked', 'cannot_cover'] as const;
export const STANDINGS = ['ok', 'problem', 'declined'] as const;

export const subjectRowSchema = z
  .object({
    ordinal: z.number().int(),
    subject: z.string(),
    identity: z.string().optional(),
    target: z.string().optional(),
    outcome: z.enum(OUTCOMES),
    verdict: z.string().optional(),
    standing: z.enum(STANDINGS).optional(),
    reason: z.string().optional(),
    reason_code: z.string().optional(),
    columns: z.unknown().optional().describe("The runbook's own columns, in its order."),
    evidence: z.unknown().optional().describe('With `include=evidence`.'),
    walk: z
      .object({ ref: z.string(), offset: z.number().int(), length: z.number().int(), sha256: z.string() })
      .optional()
      .describe('Where in which artifact the recorded steps of this subject lie.'),
    recording: z
      .object({
        ref: z.string().optional(),
        offset: z.number().int().optional(),
        length: z.number().int().optional(),
        sha256: z.string().optional(),
        note: z.string().optional().describe('Why there is none.'),
      })
      .optional()
      .describe('Where its recording lies, when the runbook files those of its subjects.'),
  })
  .meta({ id: 'SubjectRow' });

export type SubjectRow = z.infer<typeof subjectRowSchema>;

/** A stored row as callers see it. */
export function subjectRow(record: SubjectRecord, options: { evidence: boolean }): SubjectRow {
  return {
    ordinal: record.ordinal,
    subject: record.key,
    ...(record.identity !== null && { identity: record.identity }),
    ...(record.target !== null && { target: record.target }),
    outcome: record.outcome,
    ...(record.verdict !== null && { verdict: record.verdict }),
    ...(record.standing !== null && { standing: record.standing }),
    ...(record.reason !== null && { reason: record.reason }),
    ...(record.reasonCode !== null && { reason_code: record.reasonCode }),
    ...(record.columns !== null && { columns: record.columns }),
    ...(options.evidence && record.evidence !== null && { evidence: record.evidence }),
    ...(record.walkRef !== null && {
      walk: {
        ref: record.walkRef,
        offset: record.walkOffset ?? 0,
        length: record.walkLength ?? 0,
        sha256: record.walkSha256 ?? '',
      },
    }),
    ...(record.recordingNote !== null && { recording: { note: record.recordingNote } }),
    ...(record.recordingRef !== null && {
      recording: {
        ref: record.recordingRef,
        offset: record.recordingOffset ?? 0,
        length: record.recordingLength ?? 0,
        sha256: record.recordingSha256 ?? '',
      },
    }),
  };
}
