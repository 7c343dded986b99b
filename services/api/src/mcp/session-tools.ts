/**
 * The agent's tools over this API: the bundle's ports, given by the use cases that every door shares.
 *
 * A start is one transaction here (input, run, session), so what the bundle stores step by step is gathered and accepted at
 * `create`; what `start` confirms is the row that is there by then.
 */
import { createWorkflowTools, type RunView } from '@muster/workflow-tools';
import type { InterruptionView } from '../wire/interruption.ts';
import type { SafeRun } from '../wire/safe-run.ts';
import type { BundledTool } from './workflow-agent-tools.ts';
import type { WorkflowPorts } from './workflow-ports.ts';

/**
 * What an answer may weigh: under 4,000 tokens with its text and its structured content counted, also where it is made of
 * what costs most (digests, Base64, symbols, emoji: `mcp-tokens.test.ts`). Words cost half of that.
 */
export const ANSWER_WEIGHT = 2_880;

/** The tools of one session. */
export function sessionTools(ports: WorkflowPorts): readonly BundledTool[] {
  const inputs = new Map<string, string>();
  const list = () => ports.definitions().map(({ asTool, ...definition }) => ({ ...definition, as_tool: asTool }));
  return createWorkflowTools({
    sessionId: ports.sessionId,
    catalog: {
      list,
      resolve: async (name, version) => list().find((one) => one.name === name && one.version === version),
      validateInput: ({ name, version }, input) => ports.checkInput(name, version, input),
      // Checked against the very question that is open, where the answer is stored.
      validateResume: async () => undefined,
    },
    inputs: {
      put: async ({ digest, canonical }) => void inputs.set(digest, canonical),
    },
    registry: {
      create: async (run, { idempotencyKey }) =>
        viewOf(
          await ports.start({
            name: run.definition_name,
            version: run.definition_version,
            input: JSON.parse(inputs.get(run.input_digest) ?? '{}') as Record<string, unknown>,
            parentRunId: run.parent_run_id,
            idempotencyKey,
          }),
        ),
      get: async (_session, runId) => {
        const run = await ports.find(runId);
        return run === undefined ? undefined : viewOf(run);
      },
      list: async (_session, page) => {
        const { runs, next_after } = await ports.list(page);
        return { runs: runs.map(viewOf), next_after };
      },
    },
    supervisor: {
      start: async (run) => viewOf(await ports.get(run.run_id)),
      history: (run, query) => ports.history(run.run_id, query),
      resume: async (run, { value }) => viewOf(await ports.resume(run.run_id, value)),
      cancel: (run, reason) => ports.cancel(run.run_id, reason),
    },
    extras: {
      wait: async (runId, waitMs) => {
        const { run, question, outcome } = await ports.wait(runId, waitMs);
        return { run: { ...viewOf(run), ...(question && { interruption: askedOf(question) }) }, ...outcome };
      },
      rows: async (runId, query) => {
        const { run_status, rows, next_after } = await ports.rows(runId, query as never);
        return { run_status, rows, next_after };
      },
      artifact: async (ref, range) => {
        const { artifact, offset, bytes } = await ports.artifact(ref, range);
        return { ref, kind: artifact.kind, media_type: artifact.mediaType, size: artifact.bytes, offset, bytes };
      },
    },
    limits: { answerWeight: ANSWER_WEIGHT },
  }) as readonly BundledTool[];
}

/** What whoever answers has to know. */
function askedOf({
  number,
  question,
  details,
  resume_schema,
  needed_role,
  self_allowed,
  expires_at,
}: InterruptionView) {
  return {
    number,
    question,
    ...(details !== undefined && { details }),
    resume_schema,
    needed_role,
    self_allowed,
    expires_at,
  };
}

/** A run as the bundle takes it: of what REST shows, the contract's part and what an agent that waits is told besides. */
function viewOf(run: SafeRun): RunView {
  return { ...run, counts: run.subjects, interruption: run.interruption };
}
