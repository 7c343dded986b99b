/**
 * The seed's door: a procedure as one tool, whose answer is the envelope.
 */
import type { FlowChart, RedactionPolicy } from 'footprintjs';
import { z } from 'zod';
import { isPlainObject } from './plain-object.ts';
import { probeChart } from './probe-chart.ts';
import { readCheckpoint } from './procedure-checkpoint.ts';
import { type BoundedRunbook, pausedFailure, runProcedure } from './procedure-run.ts';
import type {
  RunbookPresentation,
  RunbookProcedure,
  RunbookRules,
  RunbookVerdictsOptions,
  RunbookWalkOptions,
} from './runbook.ts';
import {
  checkComposition,
  checkPresentation,
  checkStamp,
  checkText,
  checkVerdicts,
  checkWalk,
  type Refusal,
  RunbookDefinitionError,
  refusal,
} from './runbook-options.ts';
import { defineTool, type Tool, type ToolDeclarations } from './tool.ts';
import { probeDispatch } from './tool-dispatch.ts';

/** The smallest call gives `name`, `description` and `procedure`. Declarations of tools are carried to the tool. */
export interface RunbookAsToolOptions extends ToolDeclarations {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments. Default: the chart's own declared input, else an object. */
  readonly inputSchema?: unknown;
  /** `verdict/...` selects the verdict projection. */
  readonly resultKind?: string;
  readonly rules?: RunbookRules;
  readonly verdicts?: RunbookVerdictsOptions;
  readonly presentation?: RunbookPresentation;
  readonly walk?: RunbookWalkOptions;
  readonly redact?: RedactionPolicy;
  readonly procedure: RunbookProcedure;
}

/**
 * Makes a tool of a runbook. Its `execute(args, context)` gives the envelope, or an inner absence verbatim; a procedure
 * that fails throws what it threw, and one that pauses throws with its checkpoint as `checkpoint`.
 *
 * @throws RunbookDefinitionError for a declaration that is refused; the message names the option and what it got
 */
export function runbookAsTool(options: RunbookAsToolOptions): Tool {
  const { runbook, chart } = checkOptions(options);
  const { rules, verdicts, presentation, walk, redact, procedure, inputSchema, ...declared } = options;
  const schema = inputSchema ?? schemaOf(chart);
  return defineTool({
    ...declared,
    ...(schema !== undefined && { inputSchema: schema }),
    async execute(args, context) {
      const outcome = await runProcedure(runbook, isPlainObject(args) ? args : {}, {
        toolCallId: context.toolCallId,
        runId: context.runId,
        signal: context.signal,
        tools: context.tools,
        artifacts: context.hasArtifacts === false ? undefined : context.artifacts,
      });
      if (outcome.kind === 'interrupted') {
        throw pausedFailure(runbook, 'a tool call waits for nobody', readCheckpoint(outcome.checkpoint)?.chart);
      }
      const { answer } = outcome;
      if (answer.kind === 'failure') throw answer.error;
      return answer.body;
    },
  });
}

function checkOptions(options: RunbookAsToolOptions): { runbook: BoundedRunbook; chart: FlowChart } {
  const name = checkText(options?.name, 'name', '?');
  const fail = refusal(name);
  const { description, procedure, rules, verdicts, resultKind } = options;
  checkText(description, 'description', name);
  if (typeof procedure !== 'function') throw fail('procedure', 'a function that returns a built chart', procedure);
  if (resultKind !== undefined) checkText(resultKind, 'resultKind', name);
  if (rules !== undefined) checkStamp(rules, fail);
  if (verdicts !== undefined) checkVerdicts(verdicts, fail);
  checkPresentation(options.presentation, fail);
  checkWalk(options.walk, fail);
  checkComposition(name, options);
  refuseForeign(options, fail);
  const chart = probeChart(name, 'procedure', () => procedure(probeDispatch(name)));
  return { runbook: { ...options, resultKind: resultKind ?? 'report' }, chart };
}

/** Options of other bridges that would be ignored here in silence. */
function refuseForeign(options: object, fail: Refusal): void {
  for (const option of ['keepRecord', 'keepRecordLimit', 'recorders', 'resultMapper']) {
    const got = (options as Record<string, unknown>)[option];
    if (got !== undefined) throw fail(option, 'left out; walk.recording files what a run leaves behind', got);
  }
}

/** The chart's declared input as JSON Schema; undefined when it declares none, or none that can be told as one. */
function schemaOf(chart: FlowChart): unknown {
  const { inputSchema } = chart as { inputSchema?: unknown };
  if (inputSchema instanceof z.ZodType) {
    try {
      return z.toJSONSchema(inputSchema, { io: 'input' });
    } catch (error) {
      throw new RunbookDefinitionError('the chart declares an input that JSON Schema cannot tell', { cause: error });
    }
  }
  const parses = ['safeParse', 'parse'].some(
    (method) => typeof (inputSchema as Record<string, unknown> | undefined)?.[method] === 'function',
  );
  return isPlainObject(inputSchema) && !parses ? inputSchema : undefined;
}
