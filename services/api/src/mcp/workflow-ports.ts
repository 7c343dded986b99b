/**
 * What the agent's tools stand on, over the use cases that every door shares. Nothing is decided here that REST decides
 * too: scope, who may answer, idempotency, the bounds of the store.
 *
 * Invariants:
 * - everything goes through one reader, so a run outside of it is not found, whatever is asked of it;
 * - a start is one transaction (input, run, session) and is answered after it, from the row that is there.
 */
import { randomUUID } from 'node:crypto';
import { describeRunbook, faultSentence, fieldFaults, type RunbookDescription } from '@muster/host';
import { isFinal } from '@muster/results';
import { schemaFault } from '@muster/workflow-tools';
import type { ApiDeps } from '../api-deps.ts';
import { type Caller, roleCovers } from '../caller.ts';
import { Problem } from '../problems.ts';
import { type CancelledRun, cancelRun } from '../use-cases/cancel-run.ts';
import { findRun } from '../use-cases/find-run.ts';
import { listRows, type RowPage, type RowsQuery } from '../use-cases/list-rows.ts';
import { listSafeRuns, type SafeRunPage } from '../use-cases/list-runs.ts';
import { type HistoryQuery, readHistory } from '../use-cases/read-history.ts';
import { readInterruption } from '../use-cases/read-interruption.ts';
import { type RunOutcome, readRunOutcome } from '../use-cases/read-outcome.ts';
import { showRun } from '../use-cases/read-run.ts';
import { resolveDefinition } from '../use-cases/resolve-definition.ts';
import { resumeRun } from '../use-cases/resume-run.ts';
import { startRun } from '../use-cases/start-run.ts';
import { waitForRun } from '../use-cases/wait-for-run.ts';
import type { RunHistory } from '../wire/history.ts';
import type { InterruptionView } from '../wire/interruption.ts';
import type { SafeRun } from '../wire/safe-run.ts';
import type { ToolCall } from './agent-tools.ts';
import { bindSession, type SessionBinding } from './bind-session.ts';
import { type ArtifactPart, readArtifactPart } from './read-artifact-part.ts';

type Json = Readonly<Record<string, unknown>>;

/** A run to start. */
export interface WorkflowStart {
  readonly name: string;
  readonly version: string;
  readonly input: Json;
  readonly parentRunId?: string | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** A run as it stands after waiting, and what it came to when it is over. */
export interface WaitedRun {
  readonly run: SafeRun;
  /** What it asks, with the schema of an answer. */
  readonly question: InterruptionView | undefined;
  readonly outcome: RunOutcome;
  readonly isOver: boolean;
}

export type RunbookSummary = RunbookDescription & { readonly asTool: boolean };

/** The use cases, bound to one session and one call. */
export class WorkflowPorts {
  readonly #deps: ApiDeps;
  readonly #call: ToolCall;
  readonly #binding: SessionBinding;

  private constructor(deps: ApiDeps, call: ToolCall, binding: SessionBinding) {
    this.#deps = deps;
    this.#call = call;
    this.#binding = binding;
  }

  /** @param options whether the call may start a run: then the session is made where it is not there */
  static async open(deps: ApiDeps, call: ToolCall, options: { readonly starts: boolean }): Promise<WorkflowPorts> {
    return new WorkflowPorts(deps, call, await bindSession(deps, call, options));
  }

  /** For what needs no session: the definitions. Nothing is found through it, and nothing started. */
  static ofNobody(deps: ApiDeps): WorkflowPorts {
    const sessionId = randomUUID();
    const caller: Caller = { tenant: '', keyId: sessionId, role: 'reader', tenantWide: false };
    const quiet = { onRun: () => undefined, onError: () => undefined, onProgress: undefined };
    const call: ToolCall = { caller, session: 'nobody', signal: AbortSignal.abort(), ...quiet };
    return new WorkflowPorts(deps, call, { sessionId, reader: { caller, sessionId } });
  }

  get sessionId(): string {
    return this.#binding.sessionId;
  }

  /** Every runbook whose input's schema an agent may be given, by name. */
  definitions(): RunbookSummary[] {
    const definitions = [...this.#deps.catalog.byName.values()];
    return definitions
      .filter((definition) => schemaFault(describeRunbook(definition).input_schema) === undefined)
      .map((definition) => ({
        ...describeRunbook(definition),
        asTool: definition.runbook.asTool === true,
      }))
      .sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** @throws Problem `unknown_runbook`, `unknown_runbook_version`, `input_invalid` */
  async checkInput(name: string, version: string, input: Json): Promise<void> {
    const { runbook } = resolveDefinition(this.#deps, name, version);
    const parsed = await runbook.input.safeParseAsync(input);
    if (parsed.success) return;
    const errors = fieldFaults('input', parsed.error.issues);
    throw new Problem('input_invalid', faultSentence(errors), { errors });
  }

  /** Accepts a run; with the same idempotency key, the one that was accepted. @throws Problem as `startRun` does */
  async start(wanted: WorkflowStart): Promise<SafeRun> {
    this.#need('runner');
    const { name: runbook, version, input, parentRunId, idempotencyKey } = wanted;
    const { run } = await startRun(
      this.#deps,
      this.#call.caller,
      { runbook, version, input, ...(parentRunId !== undefined && { parent_run_id: parentRunId }) },
      { session: { id: this.sessionId }, idempotencyKey },
    );
    return await this.get(run.id);
  }

  /** @throws Problem `run_not_found` */
  async get(runId: string): Promise<SafeRun> {
    const run = await findRun(this.#deps, this.#binding.reader, runId);
    this.#call.onRun(run.id);
    return await showRun(this.#deps, this.#binding.reader, run);
  }

  /** The run, or undefined where there is none that this reader may see. */
  async find(runId: string): Promise<SafeRun | undefined> {
    try {
      return await this.get(runId);
    } catch (error) {
      if (error instanceof Problem && error.code === 'run_not_found') return undefined;
      throw error;
    }
  }

  /** Waits until the run is over or asks something. @throws Problem `run_not_found`, `too_many_waiters` */
  async wait(runId: string, waitMs: number): Promise<WaitedRun> {
    const { signal, onProgress } = this.#call;
    const { reader } = this.#binding;
    const run = await waitForRun(this.#deps, reader, runId, { waitMs, signal, onChange: onProgress });
    this.#call.onRun(run.id);
    return {
      run: await showRun(this.#deps, reader, run),
      question: run.status === 'interrupted' ? await this.#question(run.id) : undefined,
      outcome: await readRunOutcome(this.#deps, reader, run),
      isOver: isFinal(run.status),
    };
  }

  /** A page, newest first. @throws UnknownCursorError */
  async list(page: { readonly after?: string | undefined; readonly limit: number }): Promise<SafeRunPage> {
    const { reader, sessionId } = this.#binding;
    const session = reader.sessionId === undefined ? {} : { session: sessionId };
    return await listSafeRuns(this.#deps, reader.caller, { ...page, ...session });
  }

  /** @throws Problem as `resumeRun` does */
  async resume(runId: string, answer: Json): Promise<SafeRun> {
    this.#need('runner');
    const run = await resumeRun(this.#deps, this.#binding.reader, runId, { resume: answer });
    return await showRun(this.#deps, this.#binding.reader, run);
  }

  /** @throws Problem `run_not_found`, `run_final` */
  async cancel(runId: string, reason: string): Promise<CancelledRun> {
    this.#need('runner');
    return await cancelRun(this.#deps, this.#binding.reader, runId, reason);
  }

  /** @throws Problem `run_not_found`; UnknownCursorError */
  async history(runId: string, query: HistoryQuery): Promise<RunHistory> {
    return await readHistory(this.#deps, this.#binding.reader, runId, query);
  }

  /** @throws Problem `run_not_found`, `unknown_cursor` */
  async rows(runId: string, query: RowsQuery): Promise<RowPage> {
    return await listRows(this.#deps, this.#binding.reader, runId, query);
  }

  /** @throws Problem `artifact_not_found` */
  async artifact(ref: string, range: { readonly offset: number; readonly length: number }): Promise<ArtifactPart> {
    return await readArtifactPart(this.#deps, this.#binding.reader, ref, range);
  }

  /** The open question; undefined when it was answered a moment ago. */
  async #question(runId: string): Promise<InterruptionView | undefined> {
    try {
      return await readInterruption(this.#deps, this.#binding.reader, runId);
    } catch (error) {
      if (error instanceof Problem && error.code === 'not_interrupted') return undefined;
      throw error;
    }
  }

  #need(role: 'runner'): void {
    const { caller } = this.#call;
    if (roleCovers(caller.role, role)) return;
    const detail = `this tool needs a key of the role ${role}; this key's role is ${caller.role}`;
    throw new Problem('forbidden', detail, { needed_role: role });
  }
}
