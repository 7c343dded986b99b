/**
 * A chart with the guards that its substrate lacks (FACTS), as a twin: the author's chart is never touched.
 *
 * Invariants:
 * - a fan-out over more items than it declared is refused by name, not cut in silence;
 * - a decider whose rules judged nothing takes its `declined` branch, when it has one, and never its default;
 * - the library's own logger, which prints errors with their payload, stays quiet;
 * - a chart that was built with another copy of the library runs as one of this copy.
 */
import type { FlowChart } from 'footprintjs';
import { RunFailure } from './answer.ts';
import { findBadStageId } from './chart-stages.ts';
import { doubtOf, isEvidence } from './decision.ts';
import { ownDecision, ownScopeFactory } from './own-substrate.ts';
import { DECLINED_VERDICT } from './verdict-rows.ts';

/** A fan-out of a chart: its stage, and the state key that its results land under. */
export interface FanOut {
  readonly name: string;
  readonly into: string;
}

export interface GuardedChart {
  readonly chart: FlowChart;
  /** The fan-outs by stage id; those of branch charts join while the run goes. Empty for most charts. */
  readonly fanOuts: Map<string, FanOut>;
  /** How deep the substrate may go: it counts every concurrent branch, and what is over its limit vanishes. */
  readonly maxDepth?: number;
}

interface Node {
  readonly id: string;
  readonly name: string;
  readonly fn?: unknown;
  readonly deciderFn?: boolean;
  readonly selectorFn?: boolean;
  readonly branchId?: string;
  readonly children?: readonly Node[];
  readonly next?: Node;
  readonly parallelForEach?: {
    readonly items: (scope: unknown) => unknown;
    readonly branch: (item: unknown, index: number) => FlowChart;
    readonly maxBranches: number;
    readonly into: string;
  };
}

const QUIET = { info() {}, log() {}, debug() {}, error() {}, warn() {} };
const SUBSTRATE_DEPTH = 500;
const FAN_OUT_DEPTH = 10_000;

/** A chart object serves many runs, and its twin is made once. */
const twins = new WeakMap<FlowChart, GuardedChart>();

/** The guarded twin of a chart. */
export function guardChart(chart: FlowChart): GuardedChart {
  let guarded = twins.get(chart);
  if (guarded === undefined) {
    guarded = makeTwin(chart, new Map());
    twins.set(chart, guarded);
  }
  return guarded;
}

function makeTwin(chart: FlowChart, fanOuts: Map<string, FanOut>): GuardedChart {
  const copies = new Map<Node, Node>();
  const copy = (node: Node): Node => {
    const known = copies.get(node);
    if (known !== undefined) return known;
    const twin: Record<string, unknown> = { ...node };
    // Before its children: a loop leads back here.
    copies.set(node, twin as unknown as Node);
    if (node.children !== undefined) twin.children = node.children.map(copy);
    if (node.next !== undefined) twin.next = copy(node.next);
    if ((node.deciderFn || node.selectorFn) && typeof node.fn === 'function') {
      twin.fn = guardDecider(node, node.fn as DeciderFn);
    }
    if (node.parallelForEach !== undefined) twin.parallelForEach = guardFanOut(node, node.parallelForEach, fanOuts);
    return twin as unknown as Node;
  };
  const { subflows } = chart as { subflows?: Readonly<Record<string, { readonly root: Node }>> };
  const twin = {
    ...chart,
    logger: chart.logger ?? QUIET,
    // Cloned by every run to be kept in step with it, and read by none of ours: a recording takes the chart's own.
    buildTimeStructure: undefined,
    scopeFactory: ownScopeFactory(chart),
    root: copy(chart.root as unknown as Node),
    ...(subflows !== undefined && {
      subflows: Object.fromEntries(
        Object.entries(subflows).map(([id, subflow]) => [id, { ...subflow, root: copy(subflow.root) }]),
      ),
    }),
  } as unknown as FlowChart;
  const bounds = [...copies.keys()].map((node) => node.parallelForEach?.maxBranches ?? 0);
  const branches = bounds.reduce((sum, bound) => sum + bound, 0);
  return {
    chart: twin,
    fanOuts,
    ...(branches > 0 && { maxDepth: SUBSTRATE_DEPTH + Math.max(branches, FAN_OUT_DEPTH) }),
  };
}

/** What a guard refused, by the signal of the run: an outer fan-out would swallow what an inner one throws. */
const refusals = new WeakMap<AbortSignal, RunFailure>();

/** What the guards refused during the run that this signal bounds. */
export function refusalOf(signal: AbortSignal): RunFailure | undefined {
  return refusals.get(signal);
}

function guardFanOut(node: Node, config: NonNullable<Node['parallelForEach']>, fanOuts: Map<string, FanOut>) {
  const { name } = node;
  fanOuts.set(lastSegment(node.id), { name, into: config.into });
  let signal: AbortSignal | undefined;
  const refuse = (code: string, message: string): never => {
    const refusal = new RunFailure(code, message);
    if (signal !== undefined) refusals.set(signal, refusal);
    throw refusal;
  };
  return {
    ...config,
    items(scope: unknown) {
      signal = (scope as { $getEnv?(): { signal?: AbortSignal } }).$getEnv?.().signal;
      const items = config.items(scope);
      if (Array.isArray(items) && items.length > config.maxBranches) {
        return refuse(
          'fan_out_over_bound',
          `the fan-out '${name}' was given ${items.length} items and declared at most ${config.maxBranches}; maxBranches raises the bound, and a fleet runbook has none`,
        );
      }
      return items;
    },
    branch(item: unknown, index: number) {
      const chart = config.branch(item, index);
      // What is no chart is the substrate's to refuse.
      if (typeof chart !== 'object' || chart === null || !('root' in chart)) return chart;
      const bad = findBadStageId(chart);
      if (bad !== undefined) {
        return refuse(
          'chart_invalid',
          `a branch of the fan-out '${name}' has the stage id '${bad}'; a stage id has no /, ~ or #`,
        );
      }
      return makeTwin(chart, fanOuts).chart;
    },
  };
}

type DeciderFn = (...args: unknown[]) => unknown;

function guardDecider(node: Node, decide: DeciderFn): DeciderFn {
  const declines =
    node.deciderFn === true && node.children?.some((child) => (child.branchId ?? child.id) === DECLINED_VERDICT);
  const guard = declines === true ? (decision: unknown) => declineInDoubt(ownDecision(decision)) : ownDecision;
  return (...args) => {
    const decision = decide(...args);
    return decision instanceof Promise ? decision.then(guard) : guard(decision);
  };
}

function declineInDoubt(decision: unknown): unknown {
  if (decision === null || typeof decision !== 'object') return decision;
  const { evidence } = decision as { evidence?: unknown };
  if (!isEvidence(evidence) || doubtOf(evidence) === undefined) return decision;
  return { ...decision, branch: DECLINED_VERDICT, evidence: { ...evidence, chosen: DECLINED_VERDICT } };
}

function lastSegment(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1);
}
