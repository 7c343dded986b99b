/** What changed between sweeps, and where things stand, as callers see it. */
import { CHANGE_WORDS, type ChangeRecord, COUNTED_WORDS, type StandingRecord, type Sweep } from '@muster/results';
import { z } from 'zod';
import { RUN_STATUSES } from './safe-run.ts';

const whole = z.number().int();
const known = z.enum(['ok', 'problem']);

export const changeSchema = z
  .object({
    identity: z.string().describe('What it is across sweeps.'),
    subject: z.string().describe('The key of its row: of the worst, where it has several.'),
    target: z.string().optional(),
    change: z.enum(CHANGE_WORDS),
    from_standing: known.optional().describe('What was last known; absent: never anything.'),
    to_standing: known.optional().describe('Absent: unknown now, or gone.'),
    from_verdict: z.string().optional(),
    to_verdict: z.string().optional(),
    reason: z.string().optional(),
    reason_code: z.string().optional(),
    standing_since: z.string().optional().describe('Since when it has had the standing that is known of it.'),
    last_ok_at: z.string().optional(),
    sweeps_in_standing: whole.optional().describe('How many sweeps found it in that standing, this one among them.'),
  })
  .meta({ id: 'Change' });

/** Why a run has no changes, or not all of them. */
export const NO_CHANGES = [
  'run_not_final',
  'not_a_fleet',
  'dry_run',
  'rerun',
  'no_scope',
  'no_envelope',
  'not_recorded',
  'first',
  'late',
  'unlooked',
] as const;
export type NoChanges = (typeof NO_CHANGES)[number];

export const changePageSchema = z.object({
  run_id: z.string(),
  run_status: z.enum(RUN_STATUSES),
  scope: z.string().optional(),
  why: z
    .enum(NO_CHANGES)
    .optional()
    .describe('Why this run was compared with none: `first` is what the next one is compared with.'),
  against: z.object({ run_id: z.string(), now: z.string() }).optional().describe('The run it was compared with.'),
  gone_untold: z
    .enum(['stopped', 'plan_not_whole'])
    .optional()
    .describe('Why nothing is told gone: the run was stopped, or its plan left something out.'),
  counts: z.object(Object.fromEntries(COUNTED_WORDS.map((word) => [word, whole]))).optional(),
  changes: z.array(changeSchema),
  next_after: z.string().optional(),
});

export type ChangeView = z.infer<typeof changeSchema>;

/** A change as callers see it. */
export function changeView(record: ChangeRecord): ChangeView {
  return {
    identity: record.identity,
    subject: record.subjectKey,
    ...(record.target !== null && { target: record.target }),
    change: record.change,
    ...(record.fromStanding !== null && { from_standing: record.fromStanding }),
    ...(record.toStanding !== null && { to_standing: record.toStanding }),
    ...(record.fromVerdict !== null && { from_verdict: record.fromVerdict }),
    ...(record.toVerdict !== null && { to_verdict: record.toVerdict }),
    ...(record.reason !== null && { reason: record.reason }),
    ...(record.reasonCode !== null && { reason_code: record.reasonCode }),
    ...sinceView(record),
  };
}

/** What was recorded of a run, but for its changes. */
export function sweepView({ against, counts, goneUntold, outcome, scopeKey }: Sweep) {
  const compared = outcome === 'compared';
  return {
    scope: scopeKey,
    ...(outcome !== 'compared' && { why: outcome }),
    ...(compared && against !== null && { against: { run_id: against.runId, now: against.now.toISOString() } }),
    ...(goneUntold !== null && { gone_untold: goneUntold }),
    ...((compared || outcome === 'first') && { counts: { ...counts } }),
  };
}

export const standingSchema = z
  .object({
    runbook: z.string(),
    scope: z.string(),
    identity: z.string(),
    subject: z.string().describe('The key of the row that was seen last.'),
    target: z.string().optional(),
    standing: known.optional().describe('What is last known; absent: never anything.'),
    verdict: z.string().optional(),
    reason: z.string().optional().describe('Of a problem.'),
    standing_since: z.string().optional(),
    last_ok_at: z.string().optional(),
    sweeps_in_standing: whole.optional(),
    unknown_since: z.string().optional().describe('Set while it is unknown; its standing is what was known before.'),
    unknown_reason: z.string().optional(),
    unknown_reason_code: z.string().optional(),
    rule_version: z.string().optional().describe('Of the rules that gave the standing.'),
    run_id: z.string().describe('The last run that looked at it.'),
  })
  .meta({ id: 'Standing' });

export type StandingView = z.infer<typeof standingSchema>;

/** What is known of an identity, as callers see it. */
export function standingView(record: StandingRecord): StandingView {
  return {
    runbook: record.runbookName,
    scope: record.scopeKey,
    identity: record.identity,
    subject: record.subjectKey,
    ...(record.target !== null && { target: record.target }),
    ...(record.standing !== null && { standing: record.standing }),
    ...(record.verdict !== null && { verdict: record.verdict }),
    ...(record.reason !== null && { reason: record.reason }),
    ...sinceView(record),
    ...(record.unknownSince !== null && { unknown_since: record.unknownSince.toISOString() }),
    ...(record.unknownReason !== null && { unknown_reason: record.unknownReason }),
    ...(record.unknownReasonCode !== null && { unknown_reason_code: record.unknownReasonCode }),
    ...(record.rulesVersion !== null && { rule_version: record.rulesVersion }),
    run_id: record.lastRunId,
  };
}

type Since = Pick<ChangeRecord, 'standingSince' | 'lastOkAt' | 'sweepsInStanding'>;

/** How long something has stood so, as far as that is known. */
export function sinceView({ standingSince, lastOkAt, sweepsInStanding }: Since) {
  return {
    ...(standingSince !== null && { standing_since: standingSince.toISOString() }),
    ...(lastOkAt !== null && { last_ok_at: lastOkAt.toISOString() }),
    ...(sweepsInStanding > 0 && { sweeps_in_standing: sweepsInStanding }),
  };
}
