/**
 * The seed's door: a procedure as one tool, whose answer is the envelope.
 */
import type { RedactionPolicy } from 'footprintjs';
import { isPlainObject } from './coverage.ts';
import { checkPresentation, checkVerdicts, checkWalk, probeChart, refusal } from './define-runbook.ts';
import { type BoundedRunbook, runProcedure } from './procedure-run.ts';
import type {
  RunbookPresentation,
  RunbookProcedure,
  RunbookRules,
  RunbookVerdictsOptions,
  RunbookWalkOptions,
} from './runbook.ts';
import { defineTool, type Tool } from './tool.ts';
import { probeDispatch } from './tool-dispatch.ts';

export interface RunbookAsToolOptions {
  readonly name: string;
  readonly description: string;
  readonly inputSchema?: unknown;
  /** `verdict/...` selects the verdict projection. */
  readonly resultKind?: string;
  readonly rules?: RunbookRules;
  readonly verdicts?: RunbookVerdictsOptions;
  readonly presentation?: RunbookPresentation;
  readonly walk?: RunbookWalkOptions;
  readonly redact?: RedactionPolicy;
  readonly composedOf?: readonly string[];
  readonly procedure: RunbookProcedure;
}

/**
 * Makes a tool of a runbook. Its `execute(args, context)` gives the envelope, or an inner absence verbatim; a procedure
 * that fails throws what it threw.
 *
 * @throws RunbookDefinitionError for a declaration that is refused; the message names the option and what it got
 */
export function runbookAsTool(options: RunbookAsToolOptions): Tool {
  const runbook = checkOptions(options);
  return defineTool({
    name: options.name,
    description: options.description,
    ...(options.inputSchema !== undefined && { inputSchema: options.inputSchema }),
    ...(options.composedOf !== undefined && { composedOf: options.composedOf }),
    async execute(args, context) {
      const { answer } = await runProcedure(runbook, isPlainObject(args) ? args : {}, {
        toolCallId: context.toolCallId,
        runId: context.runId,
        signal: context.signal,
        tools: context.tools,
        artifacts: context.hasArtifacts === false ? undefined : context.artifacts,
      });
      if (answer.kind === 'failure') throw answer.error;
      return answer.body;
    },
  });
}

function checkOptions(options: RunbookAsToolOptions): BoundedRunbook {
  const name: unknown = options?.name;
  if (typeof name !== 'string' || name.trim() === '') throw refusal('?')('name', 'a non-empty string', name);
  const fail = refusal(name);
  const { description, procedure, rules, verdicts, resultKind } = options;
  if (typeof description !== 'string' || description.trim() === '') {
    throw fail('description', 'a non-empty string', description);
  }
  if (typeof procedure !== 'function') throw fail('procedure', 'a function', procedure);
  if (resultKind !== undefined && typeof resultKind !== 'string') throw fail('resultKind', 'a string', resultKind);
  if (rules !== undefined) {
    for (const option of ['name', 'version'] as const) {
      const value: unknown = rules?.[option];
      if (typeof value !== 'string' || value.trim() === '') throw fail(`rules.${option}`, 'a non-empty string', value);
    }
  }
  if (verdicts !== undefined) checkVerdicts(verdicts, fail);
  checkPresentation(options.presentation, fail);
  checkWalk(options.walk, fail);
  probeChart(name, 'procedure', () => procedure(probeDispatch(name)));
  return { ...options, resultKind: resultKind ?? 'report' };
}
