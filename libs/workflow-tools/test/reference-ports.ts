/** Ports in memory: a registry, a supervisor and a catalog as small as they can be, for the laws of the tools alone. */
import { randomUUID } from 'node:crypto';
import type {
  DefinitionSummary,
  HistoryEntry,
  HistoryKind,
  NewRun,
  RunView,
  WorkflowExtras,
  WorkflowRunStatus,
  WorkflowToolsOptions,
} from '../src/index.ts';
import { canMove, createWorkflowTools, type WorkflowTool, WorkflowToolError } from '../src/index.ts';

export const COUNTER: DefinitionSummary = {
  name: 'counter_flow',
  version: 'v1',
  description: 'Counts.',
  input_schema: {
    type: 'object',
    properties: { count: { type: 'number' } },
    required: ['count'],
    additionalProperties: false,
  },
  resume_supported: true,
};

interface Kept {
  readonly session: string;
  run: RunView;
  readonly events: HistoryEntry[];
}

/** A world of runs that several sessions share. */
export class World {
  readonly runs: Kept[] = [];
  readonly inputs = new Map<string, string>();
  readonly calls: string[] = [];
  readonly created: NewRun[] = [];
  definitions: DefinitionSummary[] = [COUNTER];
  /** Thrown by the step of this name. */
  failing: string | undefined;

  tools(over: Partial<WorkflowToolsOptions> = {}, sessionId: string = randomUUID()): Tools {
    const list = createWorkflowTools({ ...this.options(sessionId), ...over });
    return { sessionId, list, call: (name, args) => callTool(list, name, args) };
  }

  options(sessionId: string): WorkflowToolsOptions {
    return {
      sessionId,
      now: () => new Date('2026-11-30T12:00:00Z'),
      newId: () => randomUUID(),
      catalog: {
        list: () => this.definitions,
        resolve: async (name, version) => this.definitions.find((one) => one.name === name && one.version === version),
        validateInput: async (_definition, input) => {
          this.#step('validateInput');
          if (typeof input.count !== 'number')
            throw new WorkflowToolError({ code: 'input_invalid', message: 'no count' });
        },
        validateResume: async (_run, answer) => {
          this.#step('validateResume');
          if (typeof answer.go !== 'boolean') throw new WorkflowToolError({ code: 'resume_invalid', message: 'no go' });
        },
      },
      inputs: {
        put: async ({ digest, canonical }) => {
          this.#step('put');
          this.inputs.set(digest, canonical);
        },
      },
      registry: {
        create: async (run) => {
          this.#step('create');
          this.created.push(run);
          const view: RunView = {
            run_id: run.run_id,
            definition_name: run.definition_name,
            definition_version: run.definition_version,
            run_status: 'pending',
            checkpoint_revision: 1,
            activity_cursor: 1,
            parent_run_id: run.parent_run_id,
            created_at: run.created_at,
            updated_at: run.updated_at,
          };
          // What a registry keeps beside it must not get out.
          const kept = { ...view, input: { count: 'secret input' }, chart_state: 'secret state' };
          this.runs.push({ session: run.session_id, run: kept, events: [] });
          return kept;
        },
        get: async (session, runId) => this.#find(session, runId)?.run,
        list: async (session, { after, limit }) => {
          const own = this.runs.filter((kept) => kept.session === session).reverse();
          const start = after === undefined ? 0 : own.findIndex(({ run }) => run.run_id === after) + 1;
          const runs = own.slice(start, start + limit).map(({ run }) => run);
          const more = start + limit < own.length;
          return { runs, ...(more && { next_after: runs.at(-1)?.run_id }) };
        },
      },
      supervisor: {
        start: async (run) => {
          this.#step('start');
          return this.move(run.run_id, 'running', 'run_started');
        },
        history: async (run, { after_revision = 0, after_event_id, limit }) => {
          const { events } = this.#byId(run.run_id);
          const seen = events.findIndex(({ event_id }) => event_id === after_event_id);
          const start =
            after_event_id === undefined ? events.findIndex(({ revision }) => revision > after_revision) : seen + 1;
          const entries = start < 0 ? [] : events.slice(start, start + limit);
          const following = start < 0 ? undefined : events[start + limit];
          const last = entries.at(-1);
          if (following === undefined || last === undefined) return { entries };
          const same = following.revision === last.revision;
          return { entries, next_revision: last.revision, ...(same && { next_event_id: last.event_id }) };
        },
        resume: async (run, { canonical }) => {
          this.calls.push(`resume ${canonical}`);
          return this.move(run.run_id, 'running', 'run_resumed');
        },
        cancel: async (run, reason) => {
          this.calls.push(`cancel ${reason}`);
          return { run_status: this.move(run.run_id, 'cancelled', 'run_cancelled').run_status, idempotent: false };
        },
      },
    };
  }

  /** Moves a run on as its supervisor would. */
  move(runId: string, to: WorkflowRunStatus, kind: HistoryKind): RunView {
    const kept = this.#byId(runId);
    if (!canMove(kept.run.run_status, to)) throw new Error(`no way from ${kept.run.run_status} to ${to}`);
    const revision = kept.run.checkpoint_revision + 1;
    kept.run = { ...kept.run, run_status: to, checkpoint_revision: revision, activity_cursor: revision };
    this.tell(runId, revision, kind);
    return kept.run;
  }

  tell(runId: string, revision: number, kind: HistoryKind, message?: string): void {
    const kept = this.#byId(runId);
    const event_id = randomUUID();
    const occurred_at = '2026-11-30T12:00:00Z';
    kept.events.push({ revision, event_id, kind, run_status: kept.run.run_status, message, occurred_at });
  }

  #find(session: string, runId: string): Kept | undefined {
    return this.runs.find((kept) => kept.session === session && kept.run.run_id === runId);
  }

  #byId(runId: string): Kept {
    return this.runs.find(({ run }) => run.run_id === runId)!;
  }

  #step(name: string): void {
    this.calls.push(name);
    if (this.failing === name) throw new Error(`the step ${name} failed`);
  }
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely.
export type Answer = Record<string, any>;

export interface Tools {
  readonly sessionId: string;
  readonly list: readonly WorkflowTool[];
  call(name: string, args: unknown): Promise<Answer>;
}

export async function callTool(list: readonly WorkflowTool[], name: string, args: unknown): Promise<Answer> {
  const tool = list.find((one) => one.name === name);
  if (tool === undefined) throw new Error(`no tool ${name}`);
  return await tool.invoke(typeof args === 'string' ? args : JSON.stringify(args));
}

/** Extras that give what a test puts into them. */
export function extrasOf(world: World, over: Partial<WorkflowExtras> = {}): WorkflowExtras {
  return {
    wait: async (runId) => ({ run: world.runs.find(({ run }) => run.run_id === runId)!.run }),
    rows: async () => ({ run_status: 'running', rows: [] }),
    artifact: async (ref, { offset }) => ({
      ref,
      kind: 'recording/chart-walk',
      media_type: 'application/json',
      size: 0,
      offset,
      bytes: new Uint8Array(),
    }),
    ...over,
  };
}
