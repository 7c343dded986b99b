/**
 * The seven tools with which an agent finds definitions, starts runs, looks at them, resumes, cancels, and reads their
 * history (workflow-tools contract), and what goes beyond them. Pure: everything it stands on is a port.
 */
export { createWorkflowTools, type WorkflowToolsOptions } from './create-workflow-tools.ts';
export { answerWeight } from './fit-answer.ts';
export { INPUT_BOUNDS } from './json-bounds.ts';
export type {
  ArtifactPart,
  DefinitionSummary,
  HistoryEntry,
  HistoryKind,
  HistoryPage,
  HistoryQuery,
  InputStore,
  NewRun,
  RowsPage,
  RowsQuery,
  RunPage,
  RunRegistry,
  RunView,
  WaitedRun,
  WorkflowCatalog,
  WorkflowExtras,
  WorkflowSupervisor,
} from './ports.ts';
export type { PrepareRun } from './prepare-run.ts';
export { ALLOWED_TRANSITIONS, canMove, isOver, RUN_STATUSES, type WorkflowRunStatus } from './run-status.ts';
export { SCHEMA_BYTES, schemaFault } from './schema-fault.ts';
export { JsonFault, parseStrictJson } from './strict-json.ts';
export { type ToolErrorParts, type ToolInvocation, type WorkflowTool, WorkflowToolError } from './tool.ts';
