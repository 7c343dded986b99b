/** The row of a run, as everybody reads it, and the words its columns may hold. */

export type RunStatus = 'pending' | 'running' | 'interrupted' | 'completed' | 'cancelled' | 'failed';
export type FinalRunStatus = 'completed' | 'cancelled' | 'failed';
export type RunForm = 'procedure' | 'fleet';
/** A procedure run has the phases `procedure` and `done`, a fleet run the others. */
export type RunPhase = 'procedure' | 'plan' | 'assess' | 'collect' | 'done';
/** Why a run ends before everything was assessed. */
export type StopReason = 'cancelled' | 'deadline' | 'error_budget' | 'withdrawn' | 'refused' | 'expired';
export type AnswerKind = 'envelope' | 'absence' | 'failure';

/** 0 goes first. */
export const RUN_PRIORITIES = Object.freeze({ interactive: 0, normal: 1, sweep: 2 });
export type RunPriority = 0 | 1 | 2;

/** Who may see a run: always a tenant; with `sessionId` only that session's run. A run outside it is not found. */
export interface RunScope {
  readonly tenant: string;
  readonly sessionId?: string;
  readonly runId: string;
}

/** A run. `now` is the instant that its rules judge by. */
export interface RunRecord {
  readonly id: string;
  readonly tenant: string;
  readonly sessionId: string;
  readonly runbookName: string;
  readonly runbookVersion: string;
  readonly definitionDigest: string;
  readonly inputDigest: string;
  readonly form: RunForm;
  readonly priority: RunPriority;
  readonly now: Date;
  readonly status: RunStatus;
  readonly phase: RunPhase;
  /** Rises with every change of status and every entry of the history. */
  readonly revision: number;
  readonly fence: number;
  /** Claims in this phase that were not handed back in good order: what died on it. */
  readonly starts: number;
  readonly dispatchNo: number;
  readonly dispatchedAt: Date | null;
  readonly planFence: number | null;
  readonly subjectsTotal: number | null;
  readonly frozenAt: Date | null;
  readonly planSummary: unknown;
  readonly progressMark: number;
  readonly stopReason: StopReason | null;
  readonly cancelRequestedAt: Date | null;
  readonly cancelReason: string | null;
  readonly parentRunId: string | null;
  /** The instant from which on nothing more is assessed. */
  readonly deadlineAt: Date | null;
  /** At most one of the two: subjects that may fail, as a number or as percent of those settled. */
  readonly errorBudgetCount: number | null;
  readonly errorBudgetPercent: number | null;
  /** The share of targets whose subjects are assessed before all others. */
  readonly canaryPercent: number | null;
  /** What the run sweeps: runs of one tenant, runbook and scope follow each other. Null: no other run can follow it. */
  readonly scopeKey: string | null;
  /** Counts its subjects and assesses none. */
  readonly dryRun: boolean;
  /** The run of which this one does a part again, and which part: opaque here. */
  readonly rerunOf: string | null;
  readonly rerunSelection: unknown;
  /** The delivery of a webhook that began it. */
  readonly deliveryId: string | null;
  readonly statusSummary: string | null;
  readonly answerKind: AnswerKind | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
}

const COLUMNS: Readonly<Record<keyof RunRecord, string>> = {
  id: 'id',
  tenant: 'tenant',
  sessionId: 'session_id',
  runbookName: 'runbook_name',
  runbookVersion: 'runbook_version',
  definitionDigest: 'definition_digest',
  inputDigest: 'input_digest',
  form: 'form',
  priority: 'priority',
  now: 'now',
  status: 'status',
  phase: 'phase',
  revision: 'revision',
  fence: 'fence',
  starts: 'starts',
  dispatchNo: 'dispatch_no',
  dispatchedAt: 'dispatched_at',
  planFence: 'plan_fence',
  subjectsTotal: 'subjects_total',
  frozenAt: 'frozen_at',
  planSummary: 'plan_summary',
  progressMark: 'progress_mark',
  stopReason: 'stop_reason',
  cancelRequestedAt: 'cancel_requested_at',
  cancelReason: 'cancel_reason',
  parentRunId: 'parent_run_id',
  deadlineAt: 'deadline_at',
  errorBudgetCount: 'error_budget_count',
  errorBudgetPercent: 'error_budget_percent',
  canaryPercent: 'canary_percent',
  scopeKey: 'scope_key',
  dryRun: 'dry_run',
  rerunOf: 'rerun_of',
  rerunSelection: 'rerun_selection',
  deliveryId: 'delivery_id',
  statusSummary: 'status_summary',
  answerKind: 'answer_kind',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
  startedAt: 'started_at',
  finishedAt: 'finished_at',
};

/** The select or returning list that gives a {@link RunRecord}; the table is to be called `runs` or left unnamed. */
export const RUN_COLUMNS = Object.entries(COLUMNS)
  .map(([name, column]) => `runs.${column} as "${name}"`)
  .join(', ');

/** Whether a stop for this reason ends a run as `cancelled`: somebody wanted it not to go on, or nobody wanted it to. */
export function endsCancelled(reason: StopReason | null): boolean {
  return reason === 'cancelled' || reason === 'refused' || reason === 'expired';
}

/**
 * SQL: the run's chunks are worked on. One that waits for an approval is not assessed, unless it was stopped: then its
 * chunks are settled without being assessed.
 */
export const RUN_IS_ASSESSED = `runs.phase = 'assess'
  and (runs.status = 'running' or (runs.status = 'interrupted' and runs.stop_reason is not null))`;

/** True for the three statuses that end a run. */
export function isFinal(status: RunStatus): status is FinalRunStatus {
  return status === 'completed' || status === 'cancelled' || status === 'failed';
}
