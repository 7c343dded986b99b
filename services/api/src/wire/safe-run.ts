/** The safe run (workflow-tools contract, with a few fields more): never the input. */
import type { ArtifactRecord, InterruptionRecord, RunCollapse, RunProgress, RunRecord } from '@muster/results';
import { RUN_PRIORITIES } from '@muster/results';
import { z } from 'zod';
import { ROLES } from './api-key.ts';

const count = z.number().int();

const subjectsSchema = z
  .object({
    total: count,
    settled: count,
    ok: count,
    problem: count,
    declined: count,
    not_checked: count,
    cannot_cover: count,
  })
  .meta({ id: 'SubjectProgress' });

export const RUN_STATUSES = ['pending', 'running', 'interrupted', 'completed', 'cancelled', 'failed'] as const;
export const PRIORITIES = Object.keys(RUN_PRIORITIES) as [keyof typeof RUN_PRIORITIES];

export const safeRunSchema = z
  .object({
    run_id: z.string(),
    session_id: z.string(),
    definition_name: z.string(),
    definition_version: z.string(),
    definition_digest: z.string(),
    run_status: z.enum(RUN_STATUSES),
    phase: z.enum(['procedure', 'plan', 'assess', 'collect', 'done']),
    status_summary: z.string().optional(),
    checkpoint_revision: count,
    activity_cursor: count.describe('Revision of the newest history entry there can be; `after_revision` takes it.'),
    priority: z.enum(PRIORITIES),
    now: z.string().describe("The instant that the run's rules judge by."),
    parent_run_id: z.string().optional(),
    dry_run: z.literal(true).optional().describe('It counts its subjects and assesses none.'),
    delivery_id: z.string().optional().describe('The delivery of a webhook that began it.'),
    collapse: z
      .object({ hook: z.string(), count, first_at: z.string(), last_at: z.string() })
      .optional()
      .describe('How many alerts or events of a webhook went into it, where several do; not in lists.'),
    rerun_of: z.string().optional().describe('The run of which it does a part again.'),
    cancel_requested_at: z.string().optional(),
    subjects: subjectsSchema.optional().describe('There once the plan is frozen; not in lists.'),
    interruption: z
      .object({ number: count, question: z.string(), needed_role: z.enum(ROLES), expires_at: z.string() })
      .optional()
      .describe('What an `interrupted` run asks; not in lists.'),
    answer_kind: z.enum(['envelope', 'absence', 'failure']).optional(),
    artifacts: z
      .array(z.object({ id: z.string(), kind: z.string(), digest: z.string().optional(), size: count }))
      .optional()
      .describe('At most 128; not in lists.'),
    created_at: z.string(),
    updated_at: z.string(),
    started_at: z.string().optional(),
    finished_at: z.string().optional(),
  })
  .meta({ id: 'Run' });

export type SafeRun = z.infer<typeof safeRunSchema>;

/** What is read beside the row when one run is shown. */
export interface RunDetails {
  readonly progress?: RunProgress;
  readonly artifacts?: readonly ArtifactRecord[];
  readonly interruption?: InterruptionRecord;
  readonly collapse?: RunCollapse;
}

/** The run as callers see it. */
export function safeRun(run: RunRecord, details: RunDetails = {}): SafeRun {
  const { progress, artifacts = [], interruption, collapse } = details;
  return {
    run_id: run.id,
    session_id: run.sessionId,
    definition_name: run.runbookName,
    definition_version: run.runbookVersion,
    definition_digest: run.definitionDigest,
    run_status: run.status,
    phase: run.phase,
    ...(run.statusSummary !== null && { status_summary: run.statusSummary }),
    checkpoint_revision: run.revision,
    activity_cursor: run.revision,
    priority: PRIORITIES.find((word) => RUN_PRIORITIES[word] === run.priority) ?? 'normal',
    now: run.now.toISOString(),
    ...(run.parentRunId !== null && { parent_run_id: run.parentRunId }),
    ...(run.dryRun && { dry_run: true }),
    ...(run.deliveryId !== null && { delivery_id: run.deliveryId }),
    ...(collapse !== undefined && { collapse: collapseView(collapse) }),
    ...(run.rerunOf !== null && { rerun_of: run.rerunOf }),
    ...(run.cancelRequestedAt !== null && { cancel_requested_at: run.cancelRequestedAt.toISOString() }),
    ...(progress !== undefined && progress.total !== null && { subjects: subjectProgress(progress, progress.total) }),
    ...(interruption !== undefined && { interruption: openQuestion(interruption) }),
    ...(run.answerKind !== null && { answer_kind: run.answerKind }),
    ...(artifacts.length > 0 && { artifacts: artifacts.map(artifactEntry) }),
    created_at: run.createdAt.toISOString(),
    updated_at: run.updatedAt.toISOString(),
    ...(run.startedAt !== null && { started_at: run.startedAt.toISOString() }),
    ...(run.finishedAt !== null && { finished_at: run.finishedAt.toISOString() }),
  };
}

function subjectProgress(progress: RunProgress, total: number): NonNullable<SafeRun['subjects']> {
  return {
    total,
    settled: progress.settled,
    ok: progress.ok,
    problem: progress.problem,
    declined: progress.declined,
    not_checked: progress.notChecked,
    cannot_cover: progress.cannotCover,
  };
}

function openQuestion(interruption: InterruptionRecord): NonNullable<SafeRun['interruption']> {
  return {
    number: interruption.number,
    question: interruption.question,
    needed_role: interruption.neededRole,
    expires_at: interruption.expiresAt.toISOString(),
  };
}

function collapseView(collapse: RunCollapse): NonNullable<SafeRun['collapse']> {
  const { hook, count: joined, firstAt, lastAt } = collapse;
  return { hook, count: joined, first_at: firstAt.toISOString(), last_at: lastAt.toISOString() };
}

function artifactEntry(artifact: ArtifactRecord): NonNullable<SafeRun['artifacts']>[number] {
  return {
    id: artifact.ref,
    kind: artifact.kind,
    ...(artifact.digest !== null && { digest: artifact.digest }),
    size: artifact.bytes ?? 0,
  };
}
