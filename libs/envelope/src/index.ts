export {
  ABSENCE_NOTE,
  type AbsenceOptions,
  type AbsenceResult,
  absenceSignalOf,
  absent,
  RunbookAbsenceSignal,
  readAbsence,
} from './absence.ts';
export { type Answer, RunFailure } from './answer.ts';
export { assertComposedOf, type Catalog, CatalogError, createCatalog } from './catalog.ts';
export type { ChartSummary } from './chart-summary.ts';
export { cleanJson, cleanLine, cleanText } from './clean-text.ts';
export {
  type CoverageEntry,
  type CoverageLists,
  type CoverageOptions,
  type CoverageResult,
  coverage,
  isPlainObject,
  type Ledger,
  mergeLedgers,
  readCoverageResult,
} from './coverage.ts';
export type { ConditionRecord, Decision, DecisionEvidenceRecord, RuleRecord } from './decision.ts';
export {
  DEFAULT_LIMITS,
  defineRunbook,
  type FleetRunbook,
  type ProcedureRunbook,
  type ResolvedLimits,
  type Runbook,
  RunbookDefinitionError,
  standingOf,
} from './define-runbook.ts';
export { COVERAGE_NOTE, composeEnvelope, type RunbookEnvelope, UNDECLARED_RULE_VERSION } from './envelope.ts';
export { errorIdentity } from './error-identity.ts';
export { canonicalJson, definitionText } from './fingerprint.ts';
export { type AssessedSubject, createAssessor, notChecked, type SubjectOutcome } from './fleet-assess.ts';
export {
  collectFleet,
  type FleetResults,
  fleetRow,
  maxRowsOf,
  type OpenGroup,
  type OpenGroups,
  type RowSource,
  STANDING_ORDER,
} from './fleet-collect.ts';
export { type FleetPlan, type PlannedSubject, type PlanOutcome, planFleet } from './fleet-plan.ts';
export { countSubjects, type FleetOutcome, GROUP_SAMPLES, MAX_GROUPS, runFleet } from './fleet-run.ts';
export { type FleetTotals, mergeTotals, NO_TOTALS, totalSubjects } from './fleet-totals.ts';
export { answerStopped, type ProcedureOutcome, type RunCall, runProcedure } from './procedure-run.ts';
export { type RenderOptions, renderEnvelope } from './render-envelope.ts';
export { ChartTimeoutError, type Timers } from './run-chart.ts';
export type {
  AssessArgs,
  CollectArgs,
  FleetProcedure,
  RunArgs,
  RunbookDeclaration,
  RunbookPresentation,
  RunbookProcedure,
  RunbookRecordingOptions,
  RunbookRules,
  RunbookVerdictsOptions,
  RunbookWalkOptions,
  RunLimits,
  Standing,
  SubjectCounts,
  SubjectSink,
} from './runbook.ts';
export { type RunbookAsToolOptions, runbookAsTool } from './runbook-as-tool.ts';
export {
  type ArtifactSink,
  defineTool,
  dispatchTools,
  type MintInput,
  type Tool,
  type ToolContext,
  ToolRefusedError,
} from './tool.ts';
export {
  type InnerCallRecord,
  probeDispatch,
  type RecordedDispatch,
  recordingDispatch,
  type ToolDispatch,
  type ToolDispatchCallOptions,
} from './tool-dispatch.ts';
export {
  DECLINED_VERDICT,
  DEFAULT_MAX_ROWS,
  NO_ROWS_SENTENCE,
  PANEL_RENDER_NOTE,
  renderVerdictTable,
  VERDICT_RENDER_NOTE,
  type VerdictRow,
  verdictRowsOf,
} from './verdict-rows.ts';
export { countWalk, DEFAULT_WALK_CAP, type ProjectedWalk, projectWalk, type WalkRow } from './walk.ts';
export {
  CHART_WALK_ARTIFACT_KIND,
  chartWalkPutInput,
  DEFAULT_RECORDING_MAX_BYTES,
  RECORDING_ARTIFACT_KIND,
  recordingPutInput,
  type WalkDescriptor,
} from './walk-artifact.ts';
