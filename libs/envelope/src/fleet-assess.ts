/**
 * Assess: one standalone chart run a subject.
 *
 * Invariants (DESIGN 4, 10): every subject ends as exactly one of a verdict, `declined`, `not_checked` with a reason,
 * `cannot_cover` with a reason; the verdict is the decider's, never the row's; a rule that could not be evaluated makes
 * the subject declined, never the default verdict; one subject's failure costs that subject alone.
 */
import type { FlowChart } from 'footprintjs';
import { absenceSignalOf } from './absence.ts';
import { ChartClock } from './chart-clock.ts';
import { type ChartSummary, innerDeclarations, summariseChart } from './chart-summary.ts';
import { cleanJson, cleanLine } from './clean-text.ts';
import type { Decision, DecisionEvidenceRecord } from './decision.ts';
import { DOUBT_TEXT, decidingLabel, isDecisionOf } from './decision.ts';
import type { FleetRunbook } from './define-runbook.ts';
import { standingOf } from './define-runbook.ts';
import { errorIdentity } from './error-identity.ts';
import type { PlannedSubject } from './fleet-plan.ts';
import { isPlainObject } from './plain-object.ts';
import type { RunCall } from './procedure-run.ts';
import { redactValue } from './redaction.ts';
import type { ChartRun } from './run-chart.ts';
import { ChartTimeoutError, runChart } from './run-chart.ts';
import type { RunArgs, Standing } from './runbook.ts';
import { recordSubject, type SubjectRecording, subjectRecordings } from './subject-recording.ts';
import { targetBusyOf } from './tool-busy.ts';
import { recordingDispatch, type ToolDispatch } from './tool-dispatch.ts';
import { ToolRefusedError } from './tool-refused.ts';
import { DECLINED_VERDICT } from './verdict-rows.ts';
import type { WalkRow } from './walk.ts';

/** How a subject ended. Every subject of a run ends as exactly one of these. */
export type SubjectOutcome = 'verdict' | 'declined' | 'not_checked' | 'cannot_cover';

/** How one subject ended. `verdict` and `standing` are there for `verdict` and `declined`, `reasonCode` for the others. */
export interface AssessedSubject {
  readonly ordinal: number;
  readonly key: string;
  readonly identity?: string;
  readonly target?: string;
  readonly outcome: SubjectOutcome;
  readonly verdict?: string;
  readonly standing?: Standing;
  readonly reasonCode?: string;
  readonly reason: string;
  readonly columns: Readonly<Record<string, unknown>>;
  readonly evidence?: DecisionEvidenceRecord;
  readonly walk: readonly WalkRow[];
  readonly summary?: ChartSummary;
  /** There when the runbook asks for the recordings of its subjects. */
  readonly recording?: SubjectRecording;
}

/** The longest reason, in UTF-16 units. */
export const MAX_REASON_LENGTH = 500;
const OWN_COLUMNS = ['subject', 'verdict', 'standing', 'reason'];

/**
 * Makes assessors over one chart. Each slot has a chart and a dispatch of its own and serves one subject at a time, so
 * that a call through its tools is known to be that subject's.
 */
export function createAssessor(
  runbook: FleetRunbook,
  args: RunArgs,
  call: Omit<RunCall, 'signal' | 'stopSignal' | 'artifacts'>,
) {
  const free: Slot[] = [];
  return {
    /**
     * Assesses one subject. Never throws for what the subject's chart does. An abort of `signal` gives `aborted` at once;
     * one of `stopSignal` when the chart ends without a verdict because of it.
     */
    async assess(
      planned: PlannedSubject,
      signal?: AbortSignal,
      stopSignal?: AbortSignal,
    ): Promise<AssessedSubject | 'aborted'> {
      const gap = readGap(runbook, planned, args);
      if (gap !== undefined) return { ...placeOf(planned), ...gap, walk: [] };
      const slot = free.pop() ?? openSlot(runbook, call);
      slot.records.length = 0;
      slot.target = planned.target;
      const run = await runChart(slot.chart, {
        // Deep-frozen by the substrate: `subject` is the plan's own copy.
        input: { ...args, subject: planned.subject },
        signal,
        stopSignal,
        timeoutMs: runbook.limits.subjectTimeoutMs,
        clock: slot.clock,
        redact: runbook.redact,
        timers: call.timers,
        walkPrefix: `subject~${planned.ordinal}`,
        recorded: subjectRecordings(runbook.walk) !== 'none',
      });
      // A chart that is still running somewhere may call its tools late: its slot is not used again.
      if (run.outcome !== 'failed') free.push(slot);
      if (run.outcome === 'failed' && (signal?.aborted || stopSignal?.aborted)) return 'aborted';
      const summary = summariseChart(run, innerDeclarations(slot.records), runbook.verdicts.decider);
      const judgement = judge(runbook, planned, run);
      const recording = recordSubject(run, judgement.standing, runbook.walk);
      return {
        ...placeOf(planned),
        ...judgement,
        walk: run.walk,
        summary,
        ...(recording !== undefined && { recording }),
      };
    },
  };
}

/** A subject that was never begun, or whose run was given up, with the reason. */
export function notChecked(
  planned: Omit<PlannedSubject, 'subject'>,
  reasonCode: string,
  reason: string,
): AssessedSubject {
  return { ...placeOf(planned), outcome: 'not_checked', reasonCode, reason, columns: {}, walk: [] };
}

function placeOf({ ordinal, key, identity, target }: Omit<PlannedSubject, 'subject'>) {
  return { ordinal, key, ...(identity !== undefined && { identity }), ...(target !== undefined && { target }) };
}

const GAP_CODE = /^[a-z][a-z0-9_]{0,63}$/;

/** What the runbook knows to keep this subject from being assessed. A gap that is none of the declared shape is one, too. */
function readGap(runbook: FleetRunbook, planned: PlannedSubject, args: RunArgs): Judgement | undefined {
  if (runbook.fleet.gap === undefined) return undefined;
  try {
    const gap = runbook.fleet.gap(planned.subject as never, args);
    if (gap === undefined) return undefined;
    const { outcome, code, reason } = gap;
    if ((outcome !== 'not_checked' && outcome !== 'cannot_cover') || !GAP_CODE.test(code)) {
      return open('not_checked', 'gap_failed', 'its runbook names a gap that is none');
    }
    const columns = redactValue(readColumns(runbook.fleet.row({}, planned.subject as never)), runbook.redact);
    const own = Object.fromEntries(Object.entries(columns).filter(([column]) => !OWN_COLUMNS.includes(column)));
    return { ...open(outcome, code, reason), columns: own };
  } catch (error) {
    return open('not_checked', 'gap_failed', `whether it can be assessed could not be told: ${errorIdentity(error)}`);
  }
}

interface Slot {
  readonly chart: FlowChart;
  readonly clock: ChartClock;
  readonly records: { length: number } & ReturnType<typeof recordingDispatch>['records'];
  /** The target of the subject that the slot serves: calls are made for it. */
  target: string | undefined;
}

function openSlot(runbook: FleetRunbook, call: Pick<RunCall, 'tools'>): Slot {
  const place: { target: string | undefined } = { target: undefined };
  const clock = new ChartClock();
  const delivered = call.tools === undefined ? undefined : forTarget(call.tools.timedBy?.(clock) ?? call.tools, place);
  const { tools, records } = recordingDispatch(delivered, runbook.name);
  return Object.assign(place, { chart: runbook.fleet.assess(tools), clock, records: records as Slot['records'] });
}

function forTarget(tools: ToolDispatch, place: { readonly target: string | undefined }): ToolDispatch {
  return {
    has: (name) => tools.has(name),
    call: (name, args, options) =>
      tools.call(name, args, place.target === undefined ? options : { target: place.target, ...options }),
  };
}

type Judgement = Pick<
  AssessedSubject,
  'outcome' | 'verdict' | 'standing' | 'reasonCode' | 'reason' | 'columns' | 'evidence'
>;

function judge(runbook: FleetRunbook, planned: PlannedSubject, run: ChartRun): Judgement {
  if (run.outcome === 'paused') return open('not_checked', 'paused', 'its chart paused, which a subject cannot');
  if (run.outcome === 'failed') return judgeFailure(run.error);
  const decision = run.decisions.findLast((made) => isDecisionOf(made, runbook.verdicts.decider));
  if (decision === undefined) {
    return open('not_checked', 'no_decision', `the decider '${runbook.verdicts.decider}' was not reached`);
  }
  let columns: Record<string, unknown>;
  try {
    columns = redactValue(readColumns(runbook.fleet.row(run.state, planned.subject as never)), runbook.redact);
  } catch (error) {
    return open('not_checked', 'row_failed', `its row could not be made: ${errorIdentity(error)}`);
  }
  return judgeDecision(runbook, decision, columns);
}

function judgeDecision(runbook: FleetRunbook, decision: Decision, columns: Record<string, unknown>): Judgement {
  const { evidence } = decision;
  const given = typeof columns.reason === 'string' && columns.reason.trim() !== '' ? columns.reason : undefined;
  const own = Object.fromEntries(Object.entries(columns).filter(([column]) => !OWN_COLUMNS.includes(column)));
  const spoken = { columns: own, ...(evidence !== undefined && { evidence }) };
  if (evidence?.doubt !== undefined) {
    const reason = DOUBT_TEXT[evidence.doubt];
    return { outcome: 'declined', verdict: DECLINED_VERDICT, standing: 'declined', reason, ...spoken };
  }
  const standing = standingOf(runbook.verdicts, decision.branch);
  if (standing === undefined) {
    return open(
      'not_checked',
      'undeclared_verdict',
      `the verdict word '${cleanLine(decision.branch, 80)}' has no declared standing`,
    );
  }
  const label = evidence === undefined ? undefined : decidingLabel(evidence);
  return {
    outcome: standing === 'declined' ? 'declined' : 'verdict',
    verdict: decision.branch,
    standing,
    reason: cleanLine(given ?? label ?? decision.branch, MAX_REASON_LENGTH),
    ...spoken,
  };
}

function judgeFailure(error: unknown): Judgement {
  const absence = absenceSignalOf(error);
  if (absence !== undefined) {
    return open('not_checked', 'nothing_found', `the tool '${absence.tool}' answered that there is nothing`);
  }
  if (error instanceof ChartTimeoutError) return open('not_checked', error.code, error.message);
  if (error instanceof ToolRefusedError && error.code === 'tool_needs_unresolved') {
    return open('cannot_cover', error.code, error.message);
  }
  const busy = targetBusyOf(error);
  if (busy !== undefined) return open('not_checked', busy.code, busy.message);
  return open('not_checked', 'subject_failed', `its chart failed: ${errorIdentity(error)}`);
}

function open(outcome: 'not_checked' | 'cannot_cover', reasonCode: string, reason: string): Judgement {
  return { outcome, reasonCode, reason: cleanLine(reason, MAX_REASON_LENGTH), columns: {} };
}

function readColumns(columns: unknown): Record<string, unknown> {
  if (!isPlainObject(columns)) throw new TypeError('row must give an object of columns');
  return cleanJson(columns) as Record<string, unknown>;
}
