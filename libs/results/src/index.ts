/**
 * The results store on PostgreSQL: runs, chunks, subjects, answers, artifacts' rows, history and the outbox.
 *
 * PostgreSQL is the truth (DESIGN decision 1). Every function takes a {@link Database} or a transaction of it first;
 * every reading function is bound to a tenant, and what is outside it is not found.
 */

export type { AcceptOutcome } from './accept-run.ts';
export { acceptRun, acceptRunIn } from './accept-run.ts';
export type { AnswerRecord } from './answers.ts';
export { getAnswer } from './answers.ts';
export type { ApiKeyRecord, ApiRole } from './api-keys.ts';
export { createApiKey, findApiKey, listApiKeys, noteApiKeyUse, registerApiKey, revokeApiKey } from './api-keys.ts';
export type { ArtifactCommit, ArtifactRecord, ArtifactStaging, ArtifactState } from './artifacts.ts';
export {
  commitArtifacts,
  findArtifact,
  forgetArtifact,
  listRunArtifacts,
  stageArtifact,
  takeStaleArtifacts,
} from './artifacts.ts';
export type { AuditInput, AuditPage, AuditRecord } from './audit.ts';
export { appendAudit, listAudit } from './audit.ts';
export { boundedText, storableText } from './bounded-text.ts';
export type { ChangeCounts, ChangeWord, GoneUntold, JudgedBy, PlanGaps, Sweep, SweepOutcome } from './changes.ts';
export { CHANGE_WORDS, COUNTED_WORDS } from './changes.ts';
export { checkErrorBudget } from './check-error-budget.ts';
export type { DispatchLimits, DueCandidate, InFlight } from './choose-due.ts';
export { chooseDue } from './choose-due.ts';
export type { ChunkClaim, ChunkRecord, ChunkSummary, RunProgress } from './chunks.ts';
export { chunkStarts, chunkSummaries, claimChunk, markAssessing, releaseChunk, runProgress } from './chunks.ts';
export type { DeliveryClaim, DeliveryEnd, HookPlace } from './claim-deliveries.ts';
export {
  claimDeliveries,
  finishDeliveries,
  openDeliveries,
  postponeDelivery,
  refuseUnknownHooks,
  releaseDeliveries,
} from './claim-deliveries.ts';
export type { RunClaim, RunJobPhase } from './claim-run.ts';
export { claimRun, releaseRun } from './claim-run.ts';
export { condemnOldRuns } from './condemn-runs.ts';
export type { Database, DatabaseOptions, Queryable, Rows, Tx } from './database.ts';
export { openDatabase } from './database.ts';
export type { DefinitionRecord } from './definitions.ts';
export { getDefinition } from './definitions.ts';
export type {
  DeliveryIdentity,
  DeliveryInput,
  DeliveryPage,
  DeliveryQuery,
  DeliveryRecord,
  DeliveryResult,
  DeliveryState,
  KeptDelivery,
  KeptHeaders,
  ReceiveOutcome,
} from './deliveries.ts';
export {
  findRepeated,
  forgetDeliveries,
  getDelivery,
  getKeptDelivery,
  keepDeliveries,
  keepReplay,
  listDeliveries,
} from './deliveries.ts';
export type { DispatchItem, DispatchKind } from './dispatch.ts';
export { listDispatched, redispatch, takeDue, touchDispatched } from './dispatch.ts';
export type { TickOffer } from './due-schedules.ts';
export { claimSchedule, findTickable, noteEndedRuns } from './due-schedules.ts';
export {
  ArtifactNotStagedError,
  LedgerMismatchError,
  MigrationFailedError,
  QuotaExceededError,
  RESULTS_ERROR_CODES,
  ResultsError,
  ResultsUnavailableError,
  SchemaTooNewError,
  SettlementInvalidError,
  StatementRefusedError,
  UnknownCursorError,
} from './errors.ts';
export type { RowSettlement, RunFinish, SweepFinish } from './finish-run.ts';
export { finishRun } from './finish-run.ts';
export { forgetRuns } from './forget-runs.ts';
export type { Hints } from './hint-listener.ts';
export { listenForHints } from './hint-listener.ts';
export type { CollapsePlace, JoinableRun, RunCollapse, RunJoin } from './hook-collapses.ts';
export { beginCollapse, countJoins, getRunCollapse, joins, lockHook, newestRun } from './hook-collapses.ts';
export type { CanonicalInput } from './inputs.ts';
export { getRunInput } from './inputs.ts';
export type { ErrorBudget, RunAcceptance } from './insert-run.ts';
export type { AnswerOutcome, InterruptionAnswer, RunInterruption } from './interrupt-run.ts';
export { answerInterruption, expireInterruptions, interruptRun } from './interrupt-run.ts';
export type {
  AnsweredCheckpoint,
  AnswerPolicy,
  InterruptionInput,
  InterruptionPage,
  InterruptionRecord,
  InterruptionSource,
  InterruptionState,
} from './interruptions.ts';
export { getOpenInterruption, listOpenInterruptions, takeCheckpoint } from './interruptions.ts';
export type { InvariantName, InvariantViolation } from './invariants.ts';
export { invariants } from './invariants.ts';
export type { Listening } from './listen.ts';
export { markProgress } from './mark-progress.ts';
export type { MigrationReport, SchemaVersion } from './migrate.ts';
export { migrate, schemaVersion } from './migrate.ts';
export type { Migration } from './migrations.ts';
export type { MuteRecord, MuteSetting } from './mutes.ts';
export { addMute, forgetMutes, liftMute, listMutes } from './mutes.ts';
export type { NoticeClaim, NoticeKind, NoticeOutcome, NoticeRecord, NoticeState } from './notices.ts';
export {
  claimNotices,
  fileNotice,
  forgetNotices,
  pageNotices,
  replayNotice,
  settleNotice,
  writeNotice,
} from './notices.ts';
export type { NoticeFormat, NotifierRecord, NotifierSetting } from './notifiers.ts';
export {
  deleteNotifier,
  getNotifier,
  listNotifiers,
  lockNotifier,
  MAX_NOTIFIERS,
  NOTICE_FORMATS,
  putNotifier,
} from './notifiers.ts';
export type { OutcomeCounts, PackedSubjects, RecordingPart, SubjectSettlement, WalkPart } from './packed-subjects.ts';
export { joinPacked, packSubjects } from './packed-subjects.ts';
export type { PlannedChunk, SubjectNames } from './plan-chunks.ts';
export { freezeRun, stopPlan, writeChunks } from './plan-chunks.ts';
export type {
  ChangePage,
  ChangeRecord,
  KnownStanding,
  StandingPage,
  StandingPlace,
  StandingRecord,
} from './read-changes.ts';
export { getSweep, pageChanges, pageStandings } from './read-changes.ts';
export type { ToldChange, ToldOutage, ToldStandings, ToldSweep } from './read-notice.ts';
export { FLAP_CHANGES, FLAP_WINDOW_HOURS, OUTAGE_SUBJECTS, readToldStandings, readToldSweep } from './read-notice.ts';
export type { LosableQueue } from './rebuild-dispatch.ts';
export { rebuildDispatch, rebuildLostQueue } from './rebuild-dispatch.ts';
export type { RerunSelection, SubjectEnd } from './rerun-selection.ts';
export { SUBJECT_ENDS, selectSubjects } from './rerun-selection.ts';
export type { RowStanding } from './row-standings.ts';
export { rowStandings } from './row-standings.ts';
export type { RunChangeHints } from './run-change-listener.ts';
export { listenForRunChanges } from './run-change-listener.ts';
export type { RunEvent, RunEventInput, RunEventKind, RunEventPage } from './run-events.ts';
export { deriveEventId, listEvents } from './run-events.ts';
export type {
  AnswerKind,
  FinalRunStatus,
  RunForm,
  RunPhase,
  RunPriority,
  RunRecord,
  RunScope,
  RunStatus,
  StopReason,
} from './run-record.ts';
export { endsCancelled, isFinal, RUN_PRIORITIES } from './run-record.ts';
export { isStarter } from './run-starter.ts';
export type { RunListQuery, RunPage } from './runs.ts';
export { getRun, getRuns, listRuns } from './runs.ts';
export type {
  DueSlot,
  ScheduleDefinition,
  ScheduleOverlap,
  SchedulePage,
  SchedulePause,
  ScheduleRecord,
  ScheduleSource,
  ScheduleState,
} from './schedules.ts';
export {
  changeSchedule,
  createSchedule,
  deleteSchedule,
  findSchedule,
  listSchedules,
  lockSchedule,
  lockSchedulesOfFiles,
  moveSchedule,
  pauseSchedule,
  resumeSchedule,
} from './schedules.ts';
export { sealOverdue } from './seal-overdue.ts';
export type { SessionChoice, SessionRecord } from './sessions.ts';
export { ensureSession, findSession } from './sessions.ts';
export type { ChunkSettlement } from './settle-chunk.ts';
export { settleChunk } from './settle-chunk.ts';
export { startCollect, startReadyCollects } from './start-collect.ts';
export type { CancelOutcome } from './stop-run.ts';
export { readStopReasons, requestCancel, stopRun } from './stop-run.ts';
export type { SubjectSelection } from './subject-keys.ts';
export { subjectKeysOf } from './subject-keys.ts';
export { dropEmptyPartitions, ensurePartitions } from './subject-partitions.ts';
export type {
  ReasonGroup,
  ReasonGroups,
  Standing,
  SubjectOutcome,
  SubjectPage,
  SubjectQuery,
  SubjectRecord,
} from './subjects.ts';
export { countOutcomes, getSubject, headRows, notCheckedGroups, pageSubjects } from './subjects.ts';
export type { QuotaName, TenantQuota } from './tenant-quotas.ts';
export { getTenantQuota, setTenantQuota } from './tenant-quotas.ts';
export type { TickEnd, TickInput, TickPage, TickRecord, TickState, TickTrigger } from './ticks.ts';
export {
  endWaitingTick,
  forgetTicks,
  insertTick,
  isTicked,
  lastSlotOf,
  listTicks,
  openRunsOf,
  waitingTick,
} from './ticks.ts';
export type { LimitDemand, PauseNotice, PermitReply, PermitRequest, StartDemand } from './tool-permits.ts';
export { exchangePermits, releasePermits, sweepToolLimits } from './tool-permits.ts';
export type { UploadStaging } from './uploads.ts';
export { commitUpload, condemnUpload, listRunUploads, stageUpload } from './uploads.ts';
export type { AwaitedDefinition, WithdrawalRule } from './withdraw-runs.ts';
export { chooseWithdrawn, withdrawRuns } from './withdraw-runs.ts';
export type { WorkerRecord } from './workers.ts';
export { forgetWorker, heartbeatWorker, isOffered, listWorkers, offeredDigests, pruneWorkers } from './workers.ts';
