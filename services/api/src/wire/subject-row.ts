import type { RowStanding, SubjectRecord } from '@muster/results';
import { z } from 'zod';
import { sinceView } from './changes.ts';

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
    standing_since: z.string().optional().describe('Since when its identity has stood so, by the sweeps of its scope.'),
    last_ok_at: z.string().optional().describe('When its identity was last found ok.'),
    sweeps_in_standing: z.number().int().optional().describe('How many sweeps have found it so, this one among them.'),
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
export function subjectRow(record: SubjectRecord, options: { evidence: boolean; known?: RowStanding }): SubjectRow {
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
    ...(options.known !== undefined && knownSince(record, options.known)),
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

/** Of a row that stands otherwise than its identity, which stands as the worst of its rows, only when that was last ok. */
function knownSince(record: SubjectRecord, known: RowStanding) {
  if (record.standing === known.standing) return sinceView(known);
  return sinceView({ standingSince: null, lastOkAt: known.lastOkAt, sweepsInStanding: 0 });
}
