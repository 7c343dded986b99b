/**
 * The bounded form: one chart, one answer. The seed's runbook-as-tool and a run on the queue both come through here.
 */

import type { RedactionPolicy } from 'footprintjs';
import { absenceSignalOf } from './absence.ts';
import { type Answer, RunFailure } from './answer.ts';
import { summariseChart } from './chart-summary.ts';
import { EMPTY_LEDGER } from './coverage.ts';
import { composeEnvelope, countDeclined, isVerdictKind, type RunbookEnvelope } from './envelope.ts';
import { runChart, type Timers } from './run-chart.ts';
import type {
  RunbookPresentation,
  RunbookProcedure,
  RunbookRules,
  RunbookVerdictsOptions,
  RunbookWalkOptions,
} from './runbook.ts';
import type { ArtifactSink } from './tool.ts';
import type { ToolDispatch } from './tool-dispatch.ts';
import { recordingDispatch } from './tool-dispatch.ts';
import { verdictMeanings } from './verdict-meanings.ts';
import { DEFAULT_MAX_ROWS, type VerdictRow, verdictRowsOf } from './verdict-rows.ts';
import { DEFAULT_WALK_CAP, projectWalk } from './walk.ts';
import { mintRecording, mintWalk } from './walk-artifact.ts';

/** What the bounded form needs of a declaration. */
export interface BoundedRunbook {
  readonly name: string;
  readonly resultKind: string;
  readonly rules?: RunbookRules;
  readonly verdicts?: RunbookVerdictsOptions;
  readonly presentation?: RunbookPresentation;
  readonly walk?: RunbookWalkOptions;
  readonly redact?: RedactionPolicy;
  readonly procedure: RunbookProcedure;
}

/** The call that a run answers. */
export interface RunCall {
  readonly toolCallId: string;
  readonly runId?: string;
  readonly tools?: ToolDispatch;
  readonly artifacts?: ArtifactSink;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  readonly timers?: Timers;
}

/** An answer, and all of its rows: the envelope shows them only to its cap. */
export interface ProcedureOutcome {
  readonly answer: Answer;
  readonly rows: readonly VerdictRow[];
}

/**
 * Runs a bounded runbook once.
 *
 * @param args the chart's run input; `{}` when the run has none (a null input would skip validation: FACTS)
 */
export async function runProcedure(
  runbook: BoundedRunbook,
  args: Record<string, unknown>,
  call: RunCall,
): Promise<ProcedureOutcome> {
  const { tools, records } = recordingDispatch(call.tools, runbook.name);
  const chart = runbook.procedure(tools);
  const run = await runChart(chart, {
    input: structuredClone(args),
    signal: call.signal,
    timeoutMs: call.timeoutMs,
    redact: runbook.redact,
    timers: call.timers,
  });
  if (run.outcome === 'failed') {
    const absence = absenceSignalOf(run.error);
    const answer: Answer =
      absence === undefined ? { kind: 'failure', error: run.error } : { kind: 'absence', body: absence.absence };
    return { answer, rows: [] };
  }
  if (run.outcome === 'paused') {
    const error = new RunFailure('paused', `the procedure of '${runbook.name}' paused, and this call cannot resume it`);
    return { answer: { kind: 'failure', error }, rows: [] };
  }
  const decider = runbook.verdicts?.decider ?? '';
  const summary = summariseChart(run, records, decider);
  const facts = { toolName: runbook.name, toolCallId: call.toolCallId, runId: call.runId };
  const walk = projectWalk(run.walk, runbook.walk?.cap ?? DEFAULT_WALK_CAP);
  const descriptor = {
    ...(await mintWalk(call.artifacts, walk, facts)),
    ...(await mintRecording(call.artifacts, run.recording, runbook.walk, facts)),
  };
  const rows = isVerdictKind(runbook.resultKind) ? verdictRowsOf(run.state) : [];
  const meanings = decider === '' ? undefined : verdictMeanings([chart.buildTimeStructure], decider, summary.heard);
  const body = composeEnvelope({
    toolName: runbook.name,
    toolCallId: call.toolCallId,
    chartName: chart.buildTimeStructure.name,
    resultKind: runbook.resultKind,
    rules: runbook.rules,
    presentation: runbook.presentation,
    steps: walk.stepsExecuted,
    innerLedger: summary.innerLedger,
    ownLedger: summary.ownLedger,
    stamp: summary.stamp,
    report: summary.report,
    rows: {
      shown: rows.slice(0, runbook.verdicts?.maxRows ?? DEFAULT_MAX_ROWS),
      total: rows.length,
      declined: countDeclined(rows),
    },
    meanings,
    walk: descriptor,
  });
  return { answer: { kind: 'envelope', body }, rows };
}

/** The answer of a bounded run that was stopped: nothing was assessed, and why. */
export async function answerStopped(runbook: BoundedRunbook, call: RunCall, why: string): Promise<RunbookEnvelope> {
  const facts = { toolName: runbook.name, toolCallId: call.toolCallId, runId: call.runId };
  return composeEnvelope({
    toolName: runbook.name,
    toolCallId: call.toolCallId,
    chartName: runbook.name,
    resultKind: runbook.resultKind,
    rules: runbook.rules,
    presentation: runbook.presentation,
    steps: 0,
    innerLedger: EMPTY_LEDGER,
    ownLedger: { ...EMPTY_LEDGER, notChecked: [{ what: `the procedure '${runbook.name}' as a whole`, why }] },
    report: undefined,
    rows: { shown: [], total: 0, declined: 0 },
    walk: await mintWalk(call.artifacts, projectWalk([], DEFAULT_WALK_CAP), facts),
  });
}
