/**
 * What the tools stand on. Names on the wire are snake_case (workflow-tools contract), and so are the records here: what a
 * registry keeps beside them is never shown.
 */
import type { WorkflowRunStatus } from './run-status.ts';

type Json = Readonly<Record<string, unknown>>;

/** A definition as it is offered. */
export interface DefinitionSummary {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  /** JSON Schema: closed, at most 64 KiB, without a reference to elsewhere. */
  readonly input_schema: Json;
  readonly resume_supported: boolean;
  /** Offered as a tool of its own name, too (with {@link WorkflowExtras}). */
  readonly as_tool?: boolean | undefined;
}

/** The definitions. */
export interface WorkflowCatalog {
  /** By name; the same for every session. */
  list(): readonly DefinitionSummary[];
  /** The definition of this name and version; undefined: there is none such. */
  resolve(name: string, version: string): Promise<DefinitionSummary | undefined>;
  /** @throws an error of its own when the input does not fit */
  validateInput(definition: DefinitionSummary, input: Json): Promise<void>;
  /** Against the definition that was recorded on the run. @throws an error of its own when the answer does not fit */
  validateResume(run: RunView, answer: Json): Promise<void>;
}

/** Inputs by digest. */
export interface InputStore {
  put(input: { readonly digest: string; readonly canonical: string }): Promise<void>;
}

/** An artifact of a run. */
export interface ArtifactEntry {
  readonly id: string;
  readonly kind: string;
  readonly digest?: string | undefined;
  readonly size: number;
}

/** A run as the registry gives it. */
export interface RunView {
  readonly run_id: string;
  readonly definition_name: string;
  readonly definition_version: string;
  readonly run_status: WorkflowRunStatus;
  readonly status_summary?: string | undefined;
  readonly checkpoint_revision: number;
  readonly activity_cursor: number;
  readonly parent_run_id?: string | undefined;
  readonly artifacts?: readonly ArtifactEntry[] | undefined;
  readonly created_at: string;
  readonly updated_at: string;
  /** Shown only where a call asks for more than the contract has. */
  readonly counts?: Readonly<Record<string, number>> | undefined;
  readonly interruption?: Json | undefined;
}

/** A run that is to be. `prepareRun` may fill the three artifact fields, and nothing else. */
export interface NewRun {
  readonly run_id: string;
  readonly session_id: string;
  readonly definition_name: string;
  readonly definition_version: string;
  readonly input_digest: string;
  readonly run_status: 'pending';
  readonly parent_run_id?: string | undefined;
  readonly created_at: string;
  readonly updated_at: string;
  readonly artifact_session_id?: string | undefined;
  readonly artifact_run_id?: string | undefined;
  readonly parent_artifact_input?: unknown;
}

export interface RunPage {
  readonly runs: readonly RunView[];
  readonly next_after?: string | undefined;
}

/** The runs of sessions. A run of another session is undefined, like one that does not exist. */
export interface RunRegistry {
  /** Creates it. With an idempotency key, the run that this key has made already: that one's id is another. */
  create(run: NewRun, options: { readonly idempotencyKey?: string | undefined }): Promise<RunView>;
  get(sessionId: string, runId: string): Promise<RunView | undefined>;
  /** Newest first. @throws an error of its own for a cursor that is no run of the session */
  list(sessionId: string, page: { readonly after?: string | undefined; readonly limit: number }): Promise<RunPage>;
}

/** What may happen to a run (workflow-tools contract). */
export const HISTORY_KINDS = [
  'run_started',
  'vertex_completed',
  'run_interrupted',
  'run_resumed',
  'run_completed',
  'run_cancelled',
  'run_failed',
] as const;
export type HistoryKind = (typeof HISTORY_KINDS)[number];

export interface HistoryEntry {
  readonly revision: number;
  readonly event_id: string;
  readonly kind: HistoryKind;
  readonly run_status: WorkflowRunStatus;
  readonly vertex_id?: string | undefined;
  readonly vertex_label?: string | undefined;
  readonly completed_vertices?: number | undefined;
  readonly total_vertices?: number | undefined;
  readonly message?: string | undefined;
  readonly occurred_at: string;
}

export interface HistoryQuery {
  readonly after_revision?: number | undefined;
  readonly after_event_id?: string | undefined;
  readonly limit: number;
}

export interface HistoryPage {
  readonly entries: readonly HistoryEntry[];
  readonly next_revision?: number | undefined;
  readonly next_event_id?: string | undefined;
}

/** What is done with runs. The bundle cannot be built without `start` and `history`. */
export interface WorkflowSupervisor {
  /** Resolves once the run's seed is durable, with the run as it then is. */
  start(run: RunView): Promise<RunView>;
  history(run: RunView, query: HistoryQuery): Promise<HistoryPage>;
  /** Resolves once the answer is durable, with the run as it then is. */
  resume(
    run: RunView,
    answer: { readonly value: Json; readonly digest: string; readonly canonical: string },
  ): Promise<RunView>;
  /** Resolves once the wish is durable. */
  cancel(
    run: RunView,
    reason: string,
  ): Promise<{ readonly run_status: WorkflowRunStatus; readonly idempotent: boolean }>;
}

/** A run after waiting, with what it came to. */
export interface WaitedRun {
  readonly run: RunView;
  readonly envelope?: unknown;
  readonly failure?: unknown;
}

export interface RowsQuery {
  readonly standing?: string | undefined;
  readonly verdict?: string | undefined;
  readonly outcome?: string | undefined;
  readonly target?: string | undefined;
  readonly evidence: boolean;
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface RowsPage {
  readonly run_status: WorkflowRunStatus;
  readonly rows: readonly Json[];
  readonly next_after?: string | undefined;
}

export interface ArtifactPart {
  readonly ref: string;
  readonly kind: string;
  readonly media_type: string;
  /** Bytes of the whole. */
  readonly size: number;
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/** What goes beyond the contract. With none of it the seven tools are exactly the contract's. */
export interface WorkflowExtras {
  /** Waits until the run is over or asks something, at most so long; 0 looks at once. */
  wait(runId: string, waitMs: number, signal: AbortSignal | undefined): Promise<WaitedRun>;
  rows(runId: string, query: RowsQuery): Promise<RowsPage>;
  artifact(ref: string, range: { readonly offset: number; readonly length: number }): Promise<ArtifactPart>;
}
