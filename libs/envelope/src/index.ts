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
export { type AnswerDeclaration, answerDeclaration, readAnswerDeclaration } from './answer-declaration.ts';
export {
  APPROVAL_ANSWER,
  answerPolicyOf,
  askBeforeAssess,
  DEFAULT_ANSWER_MS,
  resumeSchemaOf,
  resumeSupported,
} from './answer-policy.ts';
export type { BranchFailure } from './branch-failures.ts';
export type {
  CallPacer,
  CallPermit,
  LimitDemand,
  PacedCall,
  PauseNotice,
  PermitExchange,
  PermitReply,
  PermitRequest,
  StartDemand,
} from './call-pacer.ts';
export { type Catalog, CatalogError, createCatalog } from './catalog.ts';
export { type ChangeCountsNote, type ChangesNote, describeChanges } from './changes-note.ts';
export type { ChartSummary } from './chart-summary.ts';
export { cleanJson, cleanLine, cleanText } from './clean-text.ts';
export {
  COVERAGE_NOTE,
  type CoverageEntry,
  type CoverageLists,
  type CoverageOptions,
  type CoverageReading,
  type CoverageResult,
  coverage,
  type DeclaredCoverage,
  type Ledger,
  mergeLedgers,
  readCoverageResult,
} from './coverage.ts';
export {
  type Credential,
  type CredentialNeed,
  type CredentialRequest,
  type CredentialSource,
  nameNeed,
  type ResolveCredential,
  sealCredential,
} from './credential.ts';
export type { ConditionRecord, Decision, DecisionEvidenceRecord, Doubt, RuleRecord } from './decision.ts';
export {
  DEFAULT_LIMITS,
  defineRunbook,
  type FleetRunbook,
  type ProcedureRunbook,
  type ResolvedLimits,
  type Runbook,
  standingOf,
} from './define-runbook.ts';
export { dispatchTools, type OuterCall, ToolFailedError } from './dispatch-tools.ts';
export {
  composeEnvelope,
  type DryRunNote,
  type RerunNote,
  type RunbookEnvelope,
  UNDECLARED_RULE_VERSION,
} from './envelope.ts';
export { ENVELOPE_SCHEMA_VERSION, envelopeJsonSchema, runbookEnvelopeSchema } from './envelope-schema.ts';
export { errorIdentity } from './error-identity.ts';
export { type EvidenceLine, evidenceLines } from './evidence-lines.ts';
export { canonicalJson, definitionText, rulesText } from './fingerprint.ts';
export { type AssessedSubject, createAssessor, notChecked, type SubjectOutcome } from './fleet-assess.ts';
export {
  collectDeclared,
  collectFleet,
  type FleetResults,
  fleetRow,
  maxRowsOf,
  type OpenGroup,
  type OpenGroups,
  type RowSource,
  STANDING_ORDER,
} from './fleet-collect.ts';
export { type FleetPlan, type NamedCount, type PlannedSubject, type PlanOutcome, planFleet } from './fleet-plan.ts';
export { countSubjects, type FleetOutcome, GROUP_SAMPLES, MAX_GROUPS, runFleet } from './fleet-run.ts';
export { type FleetTotals, mergeTotals, NO_TOTALS, totalSubjects } from './fleet-totals.ts';
export type { InterruptQuestion } from './interrupt-question.ts';
export { normalizeFacts } from './normalize-facts.ts';
export { isPlainObject } from './plain-object.ts';
export {
  answerStopped,
  type ProcedureInterruption,
  type ProcedureOutcome,
  type RunCall,
  resumeProcedure,
  runProcedure,
} from './procedure-run.ts';
export { renderCsv } from './render-csv.ts';
export { type RenderOptions, renderEnvelope } from './render-envelope.ts';
export { ChartTimeoutError, type Timers } from './run-chart.ts';
export type {
  AssessArgs,
  CollectArgs,
  FleetProcedure,
  PlanCounts,
  RunArgs,
  RunbookAnswers,
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
  SubjectGap,
  SubjectRecordings,
  SubjectSink,
} from './runbook.ts';
export { type RunbookAsToolOptions, runbookAsTool } from './runbook-as-tool.ts';
export { RunbookDefinitionError } from './runbook-options.ts';
export { memoryPacer, SharedPacer, type SharedPacerOptions } from './shared-pacer.ts';
export {
  type ArtifactSink,
  assertComposedOf,
  assertGates,
  type CheckIn,
  defineTool,
  type MintInput,
  type Tool,
  type ToolContext,
  type ToolDeclarations,
  type ToolDefinition,
} from './tool.ts';
export { TargetBusyError, ToolBusyError } from './tool-busy.ts';
export {
  type InnerCallRecord,
  probeDispatch,
  type RecordedDispatch,
  type RunClock,
  recordingDispatch,
  type ToolDispatch,
  type ToolDispatchCallOptions,
} from './tool-dispatch.ts';
export type { CallLimit, ToolLimits } from './tool-limits.ts';
export { ToolRefusedError } from './tool-refused.ts';
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
