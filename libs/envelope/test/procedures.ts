/** Small procedures for tests, and the one call that runs them. */
import { type FlowChart, flowChart } from 'footprintjs';
import {
  type RunbookAsToolOptions,
  type RunbookEnvelope,
  runbookAsTool,
  type ToolContext,
  type ToolDispatch,
} from '../src/index.ts';

export type State = Record<string, unknown>;

/** A chart of one stage that writes what it is given. */
export function writes(values: State, name = 'check'): () => FlowChart {
  return () => flowChart<State>(name, (scope) => void Object.assign(scope, values), 'write').build();
}

/** A chart of one stage. */
export function does(stage: (scope: State) => void | Promise<void>): FlowChart {
  return flowChart<State>('check', stage, 'do').build();
}

export const CALL = { toolCallId: 'c1' };

/** Defines a verdict-shaped runbook around a procedure and runs it once. */
export async function answer(
  options: Partial<RunbookAsToolOptions> & Pick<RunbookAsToolOptions, 'procedure'>,
  context: Partial<ToolContext> = {},
): Promise<RunbookEnvelope> {
  const tool = runbookAsTool({ name: 'check', description: 'Checks.', resultKind: 'verdict/check', ...options });
  return (await tool.execute({}, { ...CALL, ...context })) as RunbookEnvelope;
}

/** A dispatch whose tools answer with fixed results, or do what their function does. */
export function toolsThat(results: Readonly<Record<string, unknown>>): ToolDispatch {
  return {
    has: (name) => Object.hasOwn(results, name),
    call: async (name, args) => {
      const result = results[name];
      return typeof result === 'function' ? result(args) : result;
    },
  };
}

/** What a call throws, as an error. */
export function thrownBy(call: () => unknown): Error {
  try {
    call();
  } catch (error) {
    return error as Error;
  }
  throw new Error('nothing was thrown');
}
