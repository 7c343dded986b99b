/** Procedures that ask, for tests, and what comes of them. */
import { type FlowChart, flowChart, interrupt } from 'footprintjs';
import {
  type ProcedureInterruption,
  type ProcedureOutcome,
  type RunbookEnvelope,
  type RunCall,
  resumeProcedure,
  runProcedure,
  type ToolDispatch,
} from '../src/index.ts';
import type { State } from './procedures.ts';

export type Outcome = ProcedureOutcome | ProcedureInterruption;
export type Runbook = Parameters<typeof runProcedure>[0];
export type Scope = State & {
  $getArgs<T>(): T;
  $getEnv(): { signal?: AbortSignal };
  $setValue(...given: unknown[]): void;
};

export const CALL: RunCall = { toolCallId: 'call-1', runId: 'run-1' };
export const SECRET = 's3cr3t-of-the-first-leg';

export function runbookOf(procedure: (tools: ToolDispatch) => FlowChart, more: Partial<Runbook> = {}): Runbook {
  return { name: 'asks', resultKind: 'report', ...more, procedure };
}

/** A chart that does something, asks, and does something else with the answer. */
export function chartOf(
  before: (scope: Scope) => unknown,
  after: (scope: Scope, answer: unknown) => unknown,
): FlowChart {
  return flowChart<Scope>('Before', async (scope) => void (await before(scope)), 'before')
    .addFunction(
      'Ask',
      (scope: Scope) => {
        scope.answer = interrupt(scope, { reason: 'Go on?' });
      },
      'ask',
    )
    .addFunction('After', async (scope: Scope) => void (await after(scope, scope.answer)), 'after')
    .build() as FlowChart;
}

export function asked(outcome: Outcome): ProcedureInterruption {
  if (outcome.kind === 'interrupted') return outcome;
  throw new Error(`expected a question, got ${outcome.answer.kind}`, { cause: outcome.answer });
}

export function bodyOf(outcome: Outcome): RunbookEnvelope {
  if (outcome.kind === 'answered' && outcome.answer.kind === 'envelope') return outcome.answer.body;
  throw new Error('expected an envelope', { cause: outcome });
}

export function failureOf(outcome: Outcome) {
  if (outcome.kind !== 'answered' || outcome.answer.kind !== 'failure') throw new Error('expected a failure');
  return outcome.answer.error as Error & { code: string };
}

/** Runs up to the question and on from it, as two processes would. */
export async function throughOneQuestion(
  runbook: Runbook,
  answer: Record<string, unknown> = {},
  call = CALL,
  args = {},
) {
  const question = asked(await runProcedure(runbook, args, call));
  return { question, outcome: await resumeProcedure(runbook, question.checkpoint, answer, call) };
}
