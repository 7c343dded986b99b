/**
 * The bounded form: one chart, one answer. The seed's runbook-as-tool and a run on the queue both come through here.
 */

import type { RedactionPolicy } from 'footprintjs';
import { absenceSignalOf } from './absence.ts';
import { type Answer, RunFailure } from './answer.ts';
import { ChartClock } from './chart-clock.ts';
import { summariseChart } from './chart-summary.ts';
import type { CoverageEntry } from './coverage.ts';
import { EMPTY_LEDGER } from './coverage.ts';
import type { Decision, DecisionEvidenceRecord } from './decision.ts';
import { DOUBT_TEXT, isDecisionOf } from './decision.ts';
import { composeEnvelope, countDeclined, isVerdictKind, type RunbookEnvelope } from './envelope.ts';
import { type ChartRun, runChart, type Timers } from './run-chart.ts';
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
import { declaredMeanings, verdictMeanings } from './verdict-meanings.ts';
import { DECLINED_VERDICT, DEFAULT_MAX_ROWS, type VerdictRow, verdictRowsOf } from './verdict-rows.ts';
import { DEFAULT_WALK_CAP, projectWalk } from './walk.ts';
import { mintRecording, mintWalk, recordingOptions } from './walk-artifact.ts';

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
  /** Ends the run at once. */
  readonly signal?: AbortSignal;
  /** Asks the run to end: its stages are told, and what is under way may come to its end until `signal` ends it. */
  readonly stopSignal?: AbortSignal;
  readonly timeoutMs?: number;
  readonly timers?: Timers;
}

/** An answer, and all of its rows: the envelope shows them only to its cap. */
export interface ProcedureOutcome {
  readonly answer: Answer;
  readonly rows: readonly VerdictRow[];
  /**
   * What each row was decided by, in the order of `rows`. Undefined where that cannot be told: the chart writes its rows
   * itself, so a row and a decision are joined only when there are as many of both and their words agree.
   */
  readonly evidence: readonly (DecisionEvidenceRecord | undefined)[];
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
  const clock = new ChartClock();
  const { tools, records } = recordingDispatch(call.tools, runbook.name, clock);
  const chart = runbook.procedure(tools);
  const run = await runChart(chart, {
    input: structuredClone(args),
    signal: call.signal,
    stopSignal: call.stopSignal,
    clock,
    timeoutMs: call.timeoutMs,
    redact: runbook.redact,
    timers: call.timers,
    recorded: recordingOptions(runbook.walk) !== undefined,
  });
  if (run.outcome === 'failed') return unanswered(failureOrAbsence(run.error));
  if (run.outcome === 'paused') return unanswered({ kind: 'failure', error: pausedFailure(runbook.name, run) });
  const decider = runbook.verdicts?.decider ?? '';
  const summary = summariseChart(run, records, decider);
  const facts = { toolName: runbook.name, toolCallId: call.toolCallId, runId: call.runId };
  const walk = projectWalk(run.walk, runbook.walk?.cap ?? DEFAULT_WALK_CAP);
  const descriptor = {
    ...(await mintWalk(call.artifacts, walk, facts)),
    ...(await mintRecording(call.artifacts, run.recording, runbook.walk, facts)),
  };
  const rows = isVerdictKind(runbook.resultKind) ? verdictRowsOf(run.state) : [];
  const meanings =
    decider === '' ? undefined : verdictMeanings(declaredMeanings([chart.buildTimeStructure], decider), summary.heard);
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
    runLedger: { ...EMPTY_LEDGER, notChecked: doubtEntries(run.decisions, decider) },
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
  return { answer: { kind: 'envelope', body }, rows, evidence: joinEvidence(rows, run.decisions, decider) };
}

/** The answer of a bounded run that was stopped: nothing was assessed, and why. */
export async function answerStopped(
  runbook: Omit<BoundedRunbook, 'procedure'> & Partial<BoundedRunbook>,
  call: RunCall,
  why: string,
): Promise<RunbookEnvelope> {
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

/** What a chart that threw comes to: the inner absence that it carried, else the failure. */
export function failureOrAbsence(error: unknown): Extract<Answer, { kind: 'absence' | 'failure' }> {
  const signal = absenceSignalOf(error);
  return signal === undefined ? { kind: 'failure', error } : { kind: 'absence', body: signal.absence };
}

function unanswered(answer: Answer): ProcedureOutcome {
  return { answer, rows: [], evidence: [] };
}

function pausedFailure(name: string, run: ChartRun): RunFailure {
  const failure = new RunFailure('paused', `the procedure of '${name}' paused, and this call cannot resume it`);
  // It holds everything unredacted, so it is there for who asks by name and for no logger.
  Object.defineProperty(failure, 'checkpoint', { value: run.checkpoint(), enumerable: false });
  return failure;
}

/** Decisions in doubt that did not end as declined: a decider without such a branch went on with its default. */
function doubtEntries(decisions: readonly Decision[], decider: string): CoverageEntry[] {
  const doubtful = decisions.filter(
    ({ evidence, branch }) => evidence?.doubt !== undefined && branch !== DECLINED_VERDICT,
  );
  return [...new Set(doubtful.map(({ evidence }) => evidence?.doubt ?? 'rule_failed'))].map((doubt) => {
    const count = doubtful.filter(({ evidence }) => evidence?.doubt === doubt).length;
    const whose = decider === '' ? 'a decider' : `'${decider}' or another decider`;
    return {
      what: `${count} decision(s) of ${whose} that judged nothing`,
      why: `${DOUBT_TEXT[doubt]}; give the decider a branch '${DECLINED_VERDICT}'`,
    };
  });
}

function joinEvidence(
  rows: readonly VerdictRow[],
  decisions: readonly Decision[],
  decider: string,
): (DecisionEvidenceRecord | undefined)[] {
  const made = decisions.filter((decision) => isDecisionOf(decision, decider)).toSorted(byBranch);
  const joined =
    decider !== '' &&
    made.length === rows.length &&
    made.every((decision, index) => decision.branch === rows[index]?.verdict);
  return rows.map((_, index) => (joined ? made[index]?.evidence : undefined));
}

/** In the order of a fan-out's items: branches decide in the order in which they get there. */
function byBranch(left: Decision, right: Decision): number {
  const [a, b] = [branchIndex(left.decider), branchIndex(right.decider)];
  return a === undefined || b === undefined ? 0 : a - b;
}

function branchIndex(decider: string): number | undefined {
  const index = /~(\d+)\//.exec(decider)?.[1];
  return index === undefined ? undefined : Number(index);
}
