/** The life of a run (workflow-tools contract). */

export const RUN_STATUSES = ['pending', 'running', 'interrupted', 'completed', 'cancelled', 'failed'] as const;
export type WorkflowRunStatus = (typeof RUN_STATUSES)[number];

/** Where a run may go from where it stands. What is final goes nowhere. */
export const ALLOWED_TRANSITIONS: Readonly<Record<WorkflowRunStatus, readonly WorkflowRunStatus[]>> = Object.freeze({
  pending: Object.freeze(['running', 'cancelled', 'failed'] as const),
  running: Object.freeze(['interrupted', 'completed', 'cancelled', 'failed'] as const),
  interrupted: Object.freeze(['running', 'cancelled', 'failed'] as const),
  completed: Object.freeze([]),
  cancelled: Object.freeze([]),
  failed: Object.freeze([]),
});

/** Whether a run may go from one status to another. */
export function canMove(from: WorkflowRunStatus, to: WorkflowRunStatus): boolean {
  return ALLOWED_TRANSITIONS[from].includes(to);
}

/** Whether nothing comes after this status. */
export function isOver(status: WorkflowRunStatus): boolean {
  return ALLOWED_TRANSITIONS[status].length === 0;
}
