/**
 * Where and why a chart paused, and whether it can go on from there. It can on its main line, in a branch of a decider there
 * that is a stage, and at these places in a subflow of the main line. Elsewhere the substrate would skip what comes next,
 * do things twice, or use an answer again, in silence: there the pause is refused before anybody is asked.
 */
import type { FlowChart, FlowChartExecutor } from 'footprintjs';
import { RunFailure } from './answer.ts';
import { cleanJson } from './clean-text.ts';

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

/**
 * Makes plain copies of what a stage pauses with, in place, before the substrate clones it: a value that was read from the
 * scope is a view, which cannot be cloned. Anything else that cannot is refused there, see {@link pauseRefusal}.
 */
export function copyViews(data: unknown): void {
  if (typeof data !== 'object' || data === null || Object.isFrozen(data)) return;
  for (const [key, value] of Object.entries(data)) {
    if (typeof value !== 'object' || value === null) continue;
    try {
      structuredClone(value);
    } catch {
      (data as Record<string, unknown>)[key] = cleanJson(value);
    }
  }
}

/** What the substrate throws for a pause that it cannot write down, in words that say what to do; else what was thrown. */
export function pauseRefusal(error: unknown): unknown {
  if (!(error instanceof Error) || !error.message.includes('cannot build the pause checkpoint')) return error;
  return new RunFailure(
    'paused',
    'the chart paused with a value, or in a state, that is no plain JSON: pause with texts, numbers and copies of what the scope holds',
  );
}

interface Node {
  readonly id: string;
  readonly next?: Node;
  readonly children?: readonly Node[];
  readonly deciderFn?: boolean;
  readonly selectorFn?: boolean;
  readonly parallelForEach?: unknown;
  readonly isLoopRef?: boolean;
  readonly subflowId?: string;
}

/** Reads a pause. `before` is the checkpoint that this leg of the chart began from. */
export function readPause(
  chart: FlowChart,
  checkpoint: ChartCheckpoint,
  before: ChartCheckpoint | undefined,
): ChartPause {
  const { pauseData: data, pausedStageId: stage } = checkpoint;
  const place = badPlace(chart, checkpoint);
  if (place !== undefined) return { checkpoint, data, refusal: `the stage '${stage}' ${place}` };
  if (before !== undefined && asksAgainAtOnce(checkpoint, before)) {
    const refusal = `the stage '${stage}' asks twice, and would ask for ever; give each question a stage of its own`;
    return { checkpoint, data, refusal };
  }
  return { checkpoint, data };
}

const FORK = 'paused inside a fork or a fan-out, where a chart cannot go on; let it ask on its main line';
const NESTED =
  'paused inside a subflow that is not on the main line of the chart itself, where a chart cannot go on; let it ask there, or in a subflow there';
const LOOP =
  'paused where a loop leads back to it or to what came before it, and a chart that goes on cannot follow that; let the branch that loops ask';
const CHOOSING =
  'paused while it chooses what comes next, and a chart cannot choose when it goes on; let a stage before it ask';

/**
 * Why a chart cannot go on from a pause, if so. The substrate makes a chart of what is left, and what it cannot place in it,
 * it leaves out or does with the old answer, in silence: so only what was seen to work is let through.
 */
function badPlace(chart: FlowChart, { pausedStageId, subflowPath }: ChartCheckpoint): string | undefined {
  const { root, subflows } = chart as unknown as {
    readonly root: Node;
    readonly subflows?: Readonly<Record<string, { readonly root: Node }>>;
  };
  const [subflow] = subflowPath;
  if (subflow === undefined) return badStage(root, pausedStageId);
  // A branch of a fan-out is a subflow, too.
  if (subflow.includes('~')) return FORK;
  const mount = stagesInTurn(root).find((node) => node.subflowId === subflow || node.id === subflow);
  const inner = subflows?.[subflow]?.root;
  if (mount === undefined || inner === undefined || subflowPath.length > 1) return NESTED;
  return loopsBack(mount, mount.next, root) ? LOOP : badStage(inner, pausedStageId);
}

function badStage(root: Node, stageId: string): string | undefined {
  const id = lastSegment(stageId);
  const line = stagesInTurn(root);
  const decider = line.find((node) => node.deciderFn === true && node.children?.some((child) => isStage(child, id)));
  const stage = line.find((node) => isStage(node, id)) ?? decider?.children?.find((child) => isStage(child, id));
  if (stage === undefined) return FORK;
  if (stage.deciderFn === true || stage.selectorFn === true) return CHOOSING;
  if (stage.parallelForEach !== undefined || (stage.children?.length ?? 0) > 0) return FORK;
  return loopsBack(stage, stage.next ?? decider?.next, root) ? LOOP : undefined;
}

/** The stages that run one after another. */
function stagesInTurn(root: Node): Node[] {
  const line: Node[] = [];
  for (let node: Node | undefined = root; node !== undefined && node.isLoopRef !== true; node = node.next)
    line.push(node);
  return line;
}

/** Whether what comes behind a stage loops to the stage, or to what lies before it. A loop of the stage's own is followed. */
function loopsBack(stage: Node, next: Node | undefined, root: Node): boolean {
  const real =
    next?.isLoopRef === true ? reached(root).stages.find(({ id }) => isStage({ id }, lastSegment(next.id))) : next;
  const { stages, loops } = reached(real);
  return loops.some(({ id }) => {
    const target = lastSegment(id);
    return isStage(stage, target) || !stages.some((node) => isStage(node, target));
  });
}

/** Every stage that can be reached from one, and the loops among them. */
function reached(from: Node | undefined): { stages: Node[]; loops: Node[] } {
  const stages = new Set<Node>();
  const loops: Node[] = [];
  const open = [from];
  for (let node = open.pop(); node !== undefined || open.length > 0; node = open.pop()) {
    if (node === undefined || stages.has(node)) continue;
    if (node.isLoopRef === true) {
      loops.push(node);
      continue;
    }
    stages.add(node);
    open.push(node.next, ...(node.children ?? []));
  }
  return { stages: [...stages], loops };
}

function isStage(node: Pick<Node, 'id'>, id: string): boolean {
  return lastSegment(node.id) === id;
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
