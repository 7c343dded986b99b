/**
 * Where and why a chart paused, and whether it can go on from there (FACTS): on the main line, in a branch of a decider, or
 * in a subflow of these it can. Inside a fan-out it cannot, and in a fork the substrate would skip the rest in silence.
 */
import type { FlowChart, FlowChartExecutor } from 'footprintjs';

/** The substrate's own checkpoint. It holds everything unredacted. */
export type ChartCheckpoint = Parameters<FlowChartExecutor['resume']>[0];

/** A pause. */
export interface ChartPause {
  readonly checkpoint: ChartCheckpoint;
  /** What the stage said when it paused. */
  readonly data: unknown;
  /** Why the chart cannot go on from here; left out when it can. */
  readonly refusal?: string;
}

interface Node {
  readonly id: string;
  readonly next?: Node;
  readonly children?: readonly Node[];
  readonly deciderFn?: boolean;
  readonly isSubflowRoot?: boolean;
  readonly subflowId?: string;
}

/** Reads a pause. `before` is the checkpoint that this leg of the chart began from. */
export function readPause(
  chart: FlowChart,
  checkpoint: ChartCheckpoint,
  before: ChartCheckpoint | undefined,
): ChartPause {
  const { pauseData: data, pausedStageId: stage } = checkpoint;
  if (!isOnTheWay(chart, checkpoint)) {
    const refusal = `the stage '${stage}' paused inside a fork or a fan-out, where a chart cannot go on; let it ask on its main line`;
    return { checkpoint, data, refusal };
  }
  if (before !== undefined && asksAgainAtOnce(checkpoint, before)) {
    const refusal = `the stage '${stage}' asks twice, and would ask for ever; give each question a stage of its own`;
    return { checkpoint, data, refusal };
  }
  return { checkpoint, data };
}

function isOnTheWay(chart: FlowChart, { pausedStageId, subflowPath }: ChartCheckpoint): boolean {
  const { root, subflows } = chart as unknown as {
    readonly root: Node;
    readonly subflows?: Readonly<Record<string, { readonly root: Node }>>;
  };
  let line = mainLine(root);
  for (const subflow of subflowPath) {
    if (!line.some((node) => node.subflowId === subflow || node.id === subflow)) return false;
    const mounted = subflows?.[subflow];
    // One that is made while the chart runs is not known here, and the substrate finds it again by itself.
    if (mounted === undefined) return !subflow.includes('~');
    line = mainLine(mounted.root);
  }
  const id = lastSegment(pausedStageId);
  return line.some((node) => node.id === pausedStageId || lastSegment(node.id) === id);
}

/** The stages that run one after another, the branches of deciders among them; those of forks and selectors are not. */
function mainLine(root: Node): Node[] {
  const line = new Set<Node>();
  const open: (Node | undefined)[] = [root];
  for (let node = open.pop(); node !== undefined || open.length > 0; node = open.pop()) {
    // A loop leads back to a stage that is known.
    if (node === undefined || line.has(node)) continue;
    line.add(node);
    open.push(node.next, ...(node.deciderFn === true ? (node.children ?? []) : []));
  }
  return [...line];
}

/** The stage that was resumed paused again before any stage came to its end. */
function asksAgainAtOnce(checkpoint: ChartCheckpoint, before: ChartCheckpoint): boolean {
  return (
    checkpoint.pausedStageId === before.pausedStageId &&
    checkpoint.pausedBy === 'interrupt' &&
    (checkpoint.executionCount ?? 0) - (before.executionCount ?? 0) <= 1 + checkpoint.subflowPath.length
  );
}

function lastSegment(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1);
}
