/**
 * Runs one chart once and brings back what an answer is made of: the redacted state, the walk, the decisions, the error.
 *
 * Invariants:
 * - state is read from the redacted view, never from live memory;
 * - exception text never reaches the walk or a recording: an error is its name and code;
 * - an absence that a fan-out swallowed still ends the run; a branch that failed is named, not left as an empty slot;
 * - a chart that goes on from a pause is heard as one that begins: what it did before is its earlier leg's;
 * - one combined signal bounds the run, and stages see it in their environment (the substrate honours only one of
 *   `signal` and `timeoutMs`, and hands neither to the stages: FACTS); a request to stop is seen by the stages alone, so
 *   that what is under way may come to its end.
 */
import type { FlowChart, RedactionPolicy } from 'footprintjs';
import { FlowChartExecutor } from 'footprintjs';
import { narrative } from 'footprintjs/recorders';
import { absenceSignalOf } from './absence.ts';
import { type BranchFailure, watchFanOuts } from './branch-failures.ts';
import { ChartClock } from './chart-clock.ts';
import { type ChartCheckpoint, type ChartPause, copyViews, pauseRefusal, readPause } from './chart-pause.ts';
import type { Decision } from './decision.ts';
import { decisionText, readDecision } from './decision.ts';
import { errorIdentity } from './error-identity.ts';
import { guardChart, refusalOf } from './guard-chart.ts';
import { isPlainObject } from './plain-object.ts';
import { narrativeView, recordingView } from './recording-view.ts';
import { policyWithMarks, redactValue } from './redaction.ts';
import { countEntries, toWalkRows, type WalkCounts, type WalkRow } from './walk.ts';

export interface ChartRunOptions {
  /** The chart's run input. It is deep-frozen by the substrate, so hand over what nobody else writes to. */
  readonly input: Record<string, unknown>;
  /** Ends the run: its stages are told, and nobody waits for them. */
  readonly signal?: AbortSignal;
  /** Asks the run to end: its stages are told, and it goes on until it ends by itself or `signal` ends it. */
  readonly stopSignal?: AbortSignal;
  readonly timeoutMs?: number;
  /** Counts `timeoutMs`; whoever holds it lets the time stand still. */
  readonly clock?: ChartClock;
  readonly redact?: RedactionPolicy;
  /** Where deadlines are armed; the embedder's timers. */
  readonly timers?: Timers;
  /** Keep what a recording shows of each stage; without it a run is cheaper. */
  readonly recorded?: boolean;
  /** Go on from where a chart paused, instead of from its beginning. */
  readonly resume?: { readonly checkpoint: ChartCheckpoint; readonly answer: unknown };
  /** Put in front of every stage id and path of the walk: the place of this chart in a larger run. */
  readonly walkPrefix?: string;
}

/** The timer functions this package needs; the global ones unless a test passes its own. */
export interface Timers {
  setTimeout(callback: () => void, ms: number): unknown;
  clearTimeout(handle: unknown): void;
  /** The clock that they go by, in ms. Default: `performance.now`. */
  now?(): number;
}

export interface ChartRun {
  readonly outcome: 'completed' | 'failed' | 'paused';
  readonly state: Readonly<Record<string, unknown>>;
  readonly walk: readonly WalkRow[];
  readonly walkCounts: WalkCounts;
  readonly decisions: readonly Decision[];
  /** The branches of fan-outs that failed while their run went on. */
  readonly branchFailures: readonly BranchFailure[];
  /** What was thrown, when `outcome` is `failed`. It may hold payloads: show {@link errorIdentity} of it. */
  readonly error?: unknown;
  /** `{ snapshot, events, structure }` from the redacted view; built only when it is called, whole after `recorded`. */
  recording(): { snapshot: unknown; events: never[]; structure: unknown };
  /** The policy that hid what is hidden: the runbook's own, and what stages marked as sensitive. */
  readonly hidden: RedactionPolicy | undefined;
  /** There when `outcome` is `paused`. */
  readonly pause?: ChartPause;
}

/** Thrown when a chart ran past its time. */
export class ChartTimeoutError extends Error {
  override readonly name = 'ChartTimeoutError';
  readonly code = 'timeout';
  readonly timeoutMs: number;

  constructor(timeoutMs: number) {
    super(`the chart did not end within ${timeoutMs} ms`);
    this.timeoutMs = timeoutMs;
  }
}

type NarrativeOptions = NonNullable<Parameters<FlowChartExecutor['enableNarrative']>[0]>;

/** Runs a chart. Never throws for what the chart does: the outcome says it. */
export async function runChart(chart: FlowChart, options: ChartRunOptions): Promise<ChartRun> {
  const { redact } = options;
  const guarded = guardChart(chart);
  const { resume } = options;
  // A chart that goes on has lost its run input (FACTS).
  const executor = new FlowChartExecutor(
    guarded.chart,
    resume === undefined ? undefined : { readOnlyContext: options.input },
  );
  if (redact !== undefined) executor.setRedactionPolicy(redact);
  if (options.recorded !== true) {
    // Copies of every value that a stage read and wrote, for a recording alone: the commit log holds what state is made of.
    executor.setReadTracking('off');
    executor.setWriteTracking('off');
  }
  const heard = listen(executor, redact, resume !== undefined);
  const fanOuts = guarded.maxDepth === undefined ? undefined : watchFanOuts(executor, guarded.fanOuts);
  let error: unknown;
  let failed = false;
  try {
    error = await runWithin(options, async (signal, told) => {
      const bounds = {
        signal,
        env: { signal: told },
        ...(guarded.maxDepth !== undefined && { maxDepth: guarded.maxDepth }),
      };
      if (resume === undefined) await executor.run({ input: options.input, ...bounds });
      else await executor.resume(resume.checkpoint, resume.answer, bounds);
      return refusalOf(told) ?? heard.absence();
    });
    failed = error !== undefined;
  } catch (thrown) {
    failed = true;
    error = pauseRefusal(thrown);
  }
  const snapshot = executor.getSnapshot({ redact: true });
  const shared: unknown = snapshot.sharedState;
  const hidden = policyWithMarks(redact, snapshot);
  const entries = heard.entries();
  const checkpoint = failed || !executor.isPaused() ? undefined : executor.getCheckpoint();
  return {
    outcome: failed ? 'failed' : checkpoint !== undefined ? 'paused' : 'completed',
    ...(checkpoint !== undefined && { pause: readPause(guarded.chart, checkpoint, resume?.checkpoint) }),
    hidden,
    state: isPlainObject(shared) ? redactValue(shared, hidden) : {},
    walk: toWalkRows(entries, options.walkPrefix),
    walkCounts: countEntries(entries),
    decisions: heard.decisions,
    branchFailures: fanOuts?.failures() ?? [],
    ...(failed && { error }),
    recording: () => ({
      snapshot: {
        ...(recordingView(executor.getSnapshot({ redact: true }), hidden) as object),
        recorders: [narrativeView(entries)],
      },
      events: [],
      structure: chart.buildTimeStructure,
    }),
  };
}

/** Attaches what hears a run: its decisions, its absences, and the sentences of its walk. */
function listen(executor: FlowChartExecutor, redact: RedactionPolicy | undefined, resumed: boolean) {
  const decisions: Decision[] = [];
  let lastError = 'Error';
  // A retry is rendered when its stage is done, so each keeps its own error until then.
  const retried = new Map<string, string>();
  let absence: unknown;
  executor.attachFlowRecorder({
    id: 'muster-run',
    onError(event) {
      const { raw } = event.structuredError;
      lastError = errorIdentity(raw);
      absence ??= absenceSignalOf(raw);
    },
    onPause: ({ pauseData }) => copyViews(pauseData),
    onStageRetry(event) {
      retried.set(retryId(event), errorIdentity(event.structuredError.raw));
    },
    // Comes right after the decision was rendered, and alone knows the stage's id.
    onDecision(event) {
      const last = decisions.at(-1) as { stageId?: string } | undefined;
      if (last !== undefined && event.traversalContext !== undefined) last.stageId = event.traversalContext.stageId;
    },
  });
  const sentences: NarrativeOptions = {
    includeValues: false,
    renderer: {
      renderDecision(context) {
        const decision = readDecision(context, redact);
        decisions.push(decision);
        return decisionText(decision);
      },
      // The substrate's own sentence shows the thresholds of redacted keys.
      renderSelected: (context) =>
        `Selected ${context.selected.length} of ${context.total}: ${context.selected.join(', ')}.`,
      renderError: () => `The stage failed: ${lastError}.`,
      renderRetry: (context) =>
        `Attempt ${context.attempt} of ${context.maxAttempts} failed: ${retried.get(retryId(context))}; trying again.`,
      // An emitted payload is whatever a stage wrote into it; its name is enough for a walk.
      renderEmit: (context) => `Emitted ${context.name}.`,
    },
  };
  if (!resumed) {
    executor.enableNarrative(sentences);
    return { decisions, absence: () => absence, entries: () => executor.getNarrativeEntries() };
  }
  // The executor makes its own narrator when it runs from the beginning, and none when it goes on.
  const narrator = narrative(sentences);
  executor.attachCombinedRecorder(narrator);
  return { decisions, absence: () => absence, entries: () => narrator.getEntries() };
}

function retryId({ stageName, attempt, message }: { stageName: string; attempt: number; message: string }): string {
  return JSON.stringify([stageName, attempt, message]);
}

/**
 * Runs within the caller's signal and a deadline, under one signal of its own. A stage that ignores that may go on for a
 * while: nobody waits for it, and its late rejection is swallowed.
 */
function runWithin<T>(
  options: ChartRunOptions,
  run: (signal: AbortSignal, told: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal: outer, stopSignal, timeoutMs, timers = globalThis as unknown as Timers } = options;
  const controller = new AbortController();
  const clock = options.clock ?? new ChartClock();
  // The substrate gives a stage up as soon as its own signal is aborted: one that is only asked to end has another.
  const telling = stopSignal === undefined ? controller : new AbortController();
  return new Promise((resolve, reject) => {
    const release = () => {
      clock.stop();
      outer?.removeEventListener('abort', onOuter);
      stopSignal?.removeEventListener('abort', onStop);
    };
    const abort = (reason: unknown) => {
      release();
      reject(reason);
      telling.abort(reason);
      controller.abort(reason);
    };
    const onOuter = () => abort(outer?.reason);
    const onStop = () => telling.abort(stopSignal?.reason);
    if (outer?.aborted) onOuter();
    else outer?.addEventListener('abort', onOuter, { once: true });
    if (stopSignal?.aborted) onStop();
    else stopSignal?.addEventListener('abort', onStop, { once: true });
    if (timeoutMs !== undefined) clock.start(timers, timeoutMs, () => abort(new ChartTimeoutError(timeoutMs)));
    run(controller.signal, telling.signal).then(
      (value) => {
        release();
        resolve(value);
      },
      (error) => {
        release();
        reject(error);
      },
    );
  });
}
