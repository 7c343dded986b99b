/**
 * The bounded form: one chart, one answer. The seed's runbook-as-tool and a run on the queue both come through here.
 */

import type { FlowChart, RedactionPolicy } from 'footprintjs';
import { absenceSignalOf } from './absence.ts';
import { type Answer, RunFailure } from './answer.ts';
import { ChartClock } from './chart-clock.ts';
import type { ChartPause } from './chart-pause.ts';
import { summariseChart } from './chart-summary.ts';
import type { CoverageEntry } from './coverage.ts';
import { EMPTY_LEDGER } from './coverage.ts';
import type { Decision, DecisionEvidenceRecord } from './decision.ts';
import { DOUBT_TEXT, isDecisionOf } from './decision.ts';
import { composeEnvelope, countDeclined, isVerdictKind, type RunbookEnvelope } from './envelope.ts';
import { errorIdentity } from './error-identity.ts';
import { type InterruptQuestion, readQuestion } from './interrupt-question.ts';
import { NotJsonError } from './json-state.ts';
import {
  joinLegs,
  legOf,
  type ProcedureCheckpoint,
  type ProcedureLeg,
  readCheckpoint,
  withHiddenKeys,
  writeCheckpoint,
} from './procedure-checkpoint.ts';
import { redactValue } from './redaction.ts';
import { type ChartRun, type ChartRunOptions, runChart, type Timers } from './run-chart.ts';
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
import { DEFAULT_WALK_CAP, projectRows, projectWalk } from './walk.ts';
import { mintRecording, mintWalk, recordingOptions, type WalkDescriptor } from './walk-artifact.ts';

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
  readonly kind: 'answered';
  readonly answer: Answer;
  readonly rows: readonly VerdictRow[];
  /**
   * What each row was decided by, in the order of `rows`. Undefined where that cannot be told: the chart writes its rows
   * itself, so a row and a decision are joined only when there are as many of both and their words agree.
   */
  readonly evidence: readonly (DecisionEvidenceRecord | undefined)[];
}

/** A chart that asks, and waits for the answer. */
export interface ProcedureInterruption {
  readonly kind: 'interrupted';
  readonly question: InterruptQuestion;
  /** JSON text for {@link resumeProcedure}, in whichever process. It holds everything unredacted: encrypt it. */
  readonly checkpoint: string;
  /** The walk up to here, filed as `pre-pause`. */
  readonly walk: WalkDescriptor;
}

/**
 * Runs a bounded runbook once, up to its answer or its first question.
 *
 * @param args the chart's run input; `{}` when the run has none (a null input would skip validation: FACTS)
 */
export function runProcedure(
  runbook: BoundedRunbook,
  args: Record<string, unknown>,
  call: RunCall,
): Promise<ProcedureOutcome | ProcedureInterruption> {
  return runLeg(runbook, { args, legs: [] }, call);
}

/**
 * Goes on from a question, up to the answer or the next question. The stage that asked begins again from its top when it
 * asked in its middle (`interrupt`): what stands before the question is done twice.
 *
 * @param checkpoint what {@link ProcedureInterruption} gave; an answer is good for one continuation, and whoever stores
 * the two sees to that
 * @param answer checked by the caller
 */
export async function resumeProcedure(
  runbook: BoundedRunbook,
  checkpoint: string,
  answer: Readonly<Record<string, unknown>>,
  call: RunCall,
): Promise<ProcedureOutcome | ProcedureInterruption> {
  const read = readCheckpoint(checkpoint);
  if (read === undefined) {
    const error = new RunFailure(
      'checkpoint_invalid',
      `the checkpoint of '${runbook.name}' is none that this build reads`,
    );
    return unanswered({ kind: 'failure', error });
  }
  const { chart, ...begun } = read;
  return await runLeg(runbook, { ...begun, resume: { checkpoint: chart, answer } }, call);
}

/** What a leg of a procedure begins with: the run's input, and what its earlier legs contributed. */
interface LegStart extends Pick<ProcedureCheckpoint, 'args' | 'legs' | 'hiddenKeys'> {
  readonly resume?: NonNullable<ChartRunOptions['resume']>;
}

async function runLeg(
  runbook: BoundedRunbook,
  start: LegStart,
  call: RunCall,
): Promise<ProcedureOutcome | ProcedureInterruption> {
  const clock = new ChartClock();
  const made = start.legs.reduce((sum, leg) => sum + leg.calls, 0);
  const delivered = made === 0 ? call.tools : (call.tools?.numberedFrom?.(made) ?? call.tools);
  const { tools, records } = recordingDispatch(delivered, runbook.name, clock);
  const chart = runbook.procedure(tools);
  const run = await runChart(chart, {
    input: structuredClone(start.args) as Record<string, unknown>,
    signal: call.signal,
    stopSignal: call.stopSignal,
    clock,
    timeoutMs: call.timeoutMs,
    redact: withHiddenKeys(runbook.redact, start.hiddenKeys),
    timers: call.timers,
    recorded: recordingOptions(runbook.walk) !== undefined,
    ...(start.resume !== undefined && { resume: start.resume }),
  });
  if (run.outcome === 'failed') return unanswered(failureOrAbsence(run.error));
  const legs = [...start.legs, legOf(run, records)];
  return run.pause === undefined
    ? await compose(runbook, chart, run, legs, call)
    : await interrupt(runbook, { ...start, legs }, run, run.pause, call);
}

/** Composes the answer of a chart that came to its end, over all of its legs. */
async function compose(
  runbook: BoundedRunbook,
  chart: FlowChart,
  lastLeg: ChartRun,
  legs: readonly ProcedureLeg[],
  call: RunCall,
): Promise<ProcedureOutcome> {
  const decider = runbook.verdicts?.decider ?? '';
  const { innerLedger, stamp, calls: _calls, ...whole } = joinLegs(legs);
  const run = { ...lastLeg, ...whole };
  const summary = summariseChart(run, { innerLedger, stamp }, decider);
  const facts = { toolName: runbook.name, toolCallId: call.toolCallId, runId: call.runId };
  const walk = projectRows(run.walk, run.walkCounts, runbook.walk?.cap ?? DEFAULT_WALK_CAP);
  const segment = legs.length === 1 ? 'full' : 'post-resume';
  const descriptor = {
    ...(await mintWalk(call.artifacts, walk, facts, segment)),
    ...(await mintRecording(call.artifacts, run.recording, runbook.walk, facts, segment)),
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
  return {
    kind: 'answered',
    answer: { kind: 'envelope', body },
    rows,
    evidence: joinEvidence(rows, run.decisions, decider),
  };
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
  return { kind: 'answered', answer, rows: [], evidence: [] };
}

/** Files the walk so far and writes down where the chart stands. */
async function interrupt(
  runbook: BoundedRunbook,
  { args, legs }: Pick<LegStart, 'args' | 'legs'>,
  run: ChartRun,
  { checkpoint, data, refusal }: ChartPause,
  call: RunCall,
): Promise<ProcedureOutcome | ProcedureInterruption> {
  if (refusal !== undefined) return unanswered({ kind: 'failure', error: pausedFailure(runbook, refusal, checkpoint) });
  const { walk, walkCounts } = joinLegs(legs);
  let text: string;
  try {
    text = writeCheckpoint({ args, legs, hiddenKeys: run.hidden?.keys ?? [], chart: checkpoint });
  } catch (error) {
    const why = error instanceof NotJsonError ? error.message : `its state is no plain JSON (${errorIdentity(error)})`;
    return unanswered({ kind: 'failure', error: pausedFailure(runbook, why, checkpoint) });
  }
  const facts = { toolName: runbook.name, toolCallId: call.toolCallId, runId: call.runId };
  const projected = projectRows(walk, walkCounts, runbook.walk?.cap ?? DEFAULT_WALK_CAP);
  return {
    kind: 'interrupted',
    question: readQuestion(redactValue(data, run.hidden)),
    checkpoint: text,
    walk: await mintWalk(call.artifacts, projected, facts, 'pre-pause'),
  };
}

/** The failure of a procedure that paused where nobody can resume it, with where it stands as `checkpoint`. */
export function pausedFailure({ name }: { readonly name: string }, why: string, checkpoint: unknown): RunFailure {
  const failure = new RunFailure('paused', `the procedure of '${name}' paused and cannot go on: ${why}`);
  // It holds everything unredacted, so it is there for who asks by name and for no logger.
  Object.defineProperty(failure, 'checkpoint', { value: checkpoint, enumerable: false });
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
