/**
 * Runs one chart once and brings back what an answer is made of: the redacted state, the walk, the decisions, the error.
 *
 * Invariants:
 * - state is read from the redacted view, never from live memory;
 * - the library's own logger, which prints errors with their payload, stays quiet;
 * - exception text never reaches the walk or a recording: an error is its name and code;
 * - one combined signal bounds the run, and stages see it in their environment (the substrate honours only one of
 *   `signal` and `timeoutMs`, and hands neither to the stages: FACTS).
 */
import type { CombinedNarrativeEntry, FlowChart, RedactionPolicy } from 'footprintjs';
import { FlowChartExecutor } from 'footprintjs';
import { isPlainObject } from './coverage.ts';
import type { Decision } from './decision.ts';
import { decisionText, readDecision } from './decision.ts';
import { errorIdentity } from './error-identity.ts';
import { toWalkRow, type WalkRow } from './walk.ts';

export interface ChartRunOptions {
  /** The chart's run input. It is deep-frozen by the substrate, so hand over what nobody else writes to. */
  readonly input: Record<string, unknown>;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  readonly redact?: RedactionPolicy;
  /** Where deadlines are armed; the embedder's timers. */
  readonly timers?: Timers;
}

/** The two timer functions this package needs; the global ones unless a test passes its own. */
export interface Timers {
  setTimeout(callback: () => void, ms: number): unknown;
  clearTimeout(handle: unknown): void;
}

export interface ChartRun {
  readonly outcome: 'completed' | 'failed' | 'paused';
  readonly state: Readonly<Record<string, unknown>>;
  readonly walk: readonly WalkRow[];
  readonly decisions: readonly Decision[];
  /** What was thrown, when `outcome` is `failed`. It may hold payloads: show {@link errorIdentity} of it. */
  readonly error?: unknown;
  /** `{ snapshot, events, structure }` from the redacted view; built only when it is called. */
  recording(): { snapshot: unknown; events: never[]; structure: unknown };
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

const quiet = { info() {}, log() {}, debug() {}, error() {}, warn() {} };

/** One quiet twin a chart: a chart object serves many runs, and the copy is made once. */
const quietCharts = new WeakMap<FlowChart, FlowChart>();

function quietChart(chart: FlowChart): FlowChart {
  if (chart.logger !== undefined) return chart;
  let twin = quietCharts.get(chart);
  if (twin === undefined) {
    twin = { ...chart, logger: quiet };
    quietCharts.set(chart, twin);
  }
  return twin;
}

/** Runs a chart. Never throws for what the chart does: the outcome says it. */
export async function runChart(chart: FlowChart, options: ChartRunOptions): Promise<ChartRun> {
  const { redact } = options;
  const decisions: Decision[] = [];
  const errors: string[] = [];
  const executor = new FlowChartExecutor(quietChart(chart));
  if (redact !== undefined) executor.setRedactionPolicy(redact);
  executor.attachFlowRecorder({
    id: 'muster-errors',
    onError: (event) => void errors.push(errorIdentity(event.structuredError.raw)),
    onStageRetry: (event) => void errors.push(errorIdentity(event.structuredError.raw)),
  });
  executor.enableNarrative({
    includeValues: false,
    renderer: {
      renderDecision(context) {
        const decision = readDecision(context, redact);
        decisions.push(decision);
        return decisionText(decision);
      },
      renderError: () => `The stage failed: ${errors.at(-1) ?? 'Error'}.`,
      renderRetry: (context) =>
        `Attempt ${context.attempt} of ${context.maxAttempts} failed: ${errors.at(-1) ?? 'Error'}; trying again.`,
      // An emitted payload is whatever a stage wrote into it; its name is enough for a walk.
      renderEmit: (context) => `Emitted ${context.name}.`,
    },
  });
  const bound = boundSignal(options);
  let error: unknown;
  let failed = false;
  try {
    const run = executor.run({ input: options.input, signal: bound.signal, env: { signal: bound.signal } });
    // A stage that ignores its signal may go on for a while; nobody waits for it, and its late rejection is swallowed.
    run.catch(() => {});
    await Promise.race([run, bound.aborted]);
  } catch (thrown) {
    failed = true;
    error = thrown;
  } finally {
    bound.release();
  }
  const snapshot = () => executor.getSnapshot({ redact: true });
  const shared: unknown = snapshot().sharedState;
  return {
    outcome: failed ? 'failed' : executor.isPaused() ? 'paused' : 'completed',
    state: isPlainObject(shared) ? shared : {},
    walk: (executor.getNarrativeEntries() as CombinedNarrativeEntry[]).map(toWalkRow),
    decisions,
    ...(failed && { error }),
    recording: () => ({
      snapshot: withoutErrorText(snapshot()),
      events: [],
      structure: chart.buildTimeStructure,
    }),
  };
}

function boundSignal(options: ChartRunOptions) {
  const { signal: outer, timeoutMs, timers = globalThis as unknown as Timers } = options;
  const controller = new AbortController();
  let reject: (reason: unknown) => void = () => {};
  const aborted = new Promise<never>((_, fail) => {
    reject = fail;
  });
  aborted.catch(() => {});
  const abort = (reason: unknown) => {
    reject(reason);
    controller.abort(reason);
  };
  const onOuter = () => abort(outer?.reason);
  if (outer?.aborted) onOuter();
  else outer?.addEventListener('abort', onOuter, { once: true });
  const timer =
    timeoutMs === undefined ? undefined : timers.setTimeout(() => abort(new ChartTimeoutError(timeoutMs)), timeoutMs);
  return {
    signal: controller.signal,
    aborted,
    release() {
      if (timer !== undefined) timers.clearTimeout(timer);
      outer?.removeEventListener('abort', onOuter);
    },
  };
}

/** A copy of a snapshot's execution tree in which error texts are gone: they can carry values (contract). */
function withoutErrorText(snapshot: unknown): unknown {
  if (Array.isArray(snapshot)) return snapshot.map(withoutErrorText);
  if (!isPlainObject(snapshot)) return snapshot;
  const copy: Record<string, unknown> = { ...snapshot };
  if (isPlainObject(copy.executionTree)) copy.executionTree = withoutNodeErrors(copy.executionTree);
  return copy;
}

function withoutNodeErrors(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withoutNodeErrors);
  if (!isPlainObject(node)) return node;
  const copy: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(node)) {
    if (key === 'errors' && isPlainObject(value)) {
      copy[key] = Object.fromEntries(Object.keys(value).map((name) => [name, 'the stage failed']));
    } else if (key === 'next' || key === 'children' || key === 'subflow') {
      copy[key] = withoutNodeErrors(value);
    } else {
      copy[key] = value;
    }
  }
  return copy;
}
