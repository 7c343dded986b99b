/**
 * The walk: one row of eight columns for each step of a chart's run, values off.
 *
 * Invariants (contract "Walk descriptor"):
 * - `total` is always the whole count; `shown` is what the projection holds;
 * - over the cap, rows of type `step` go first and the control flow stays; then the cap cuts;
 * - `steps_executed` counts distinct executed steps, not rows.
 */
import type { CombinedNarrativeEntry } from 'footprintjs';
import { cleanText } from './clean-text.ts';

/** How many rows a walk artifact holds when the runbook does not say. */
export const DEFAULT_WALK_CAP = 500;

/** One row; a column that does not apply is null. */
export interface WalkRow {
  readonly step: number | null;
  readonly type: string;
  readonly depth: number;
  readonly stage: string | null;
  readonly stage_id: string | null;
  readonly runtime_stage_id: string | null;
  readonly subflow: string | null;
  readonly text: string;
}

/** Whether nothing but size decided what is shown, or the control flow alone is. */
export type WalkProjection = 'full' | 'control-flow';

export interface ProjectedWalk {
  readonly rows: readonly WalkRow[];
  readonly projection: WalkProjection;
  readonly shown: number;
  readonly total: number;
  readonly complete: boolean;
  readonly stepsExecuted: number;
}

/** Counters of a walk that is not held: how many rows, how many of control flow, how many distinct steps. */
export interface WalkCounts {
  readonly rows: number;
  readonly controlRows: number;
  readonly steps: number;
}

/**
 * Applies the cap law to narrative entries or walk rows.
 *
 * @param cap the most rows that may be shown; a whole number of at least 1
 */
export function projectWalk(entries: readonly (CombinedNarrativeEntry | WalkRow)[], cap: number): ProjectedWalk {
  const rows = entries.map(toWalkRow);
  const counts = countWalk(rows);
  return projectRows(rows, counts, cap);
}

/**
 * The cap law over rows of which some may have been left out by a reader that already had enough: `counts` speak for the
 * whole walk.
 */
export function projectRows(rows: readonly WalkRow[], counts: WalkCounts, cap: number): ProjectedWalk {
  const full = counts.rows <= cap;
  const kept = full ? rows : rows.filter(isControlFlow).slice(0, cap);
  return {
    rows: kept,
    projection: full ? 'full' : 'control-flow',
    shown: kept.length,
    total: counts.rows,
    complete: kept.length === counts.rows,
    stepsExecuted: counts.steps,
  };
}

/** Counts a walk. */
export function countWalk(rows: readonly WalkRow[]): WalkCounts {
  const steps = new Set<string>();
  let controlRows = 0;
  for (const row of rows) {
    if (isControlFlow(row)) controlRows++;
    if (row.runtime_stage_id !== null) steps.add(row.runtime_stage_id);
  }
  return { rows: rows.length, controlRows, steps: steps.size };
}

export function addWalkCounts(left: WalkCounts, right: WalkCounts): WalkCounts {
  return {
    rows: left.rows + right.rows,
    controlRows: left.controlRows + right.controlRows,
    steps: left.steps + right.steps,
  };
}

export const NO_WALK: WalkCounts = Object.freeze({ rows: 0, controlRows: 0, steps: 0 });

/** Whether a row stays when the walk is over its cap: everything but single reads and writes. */
export function isControlFlow(row: WalkRow): boolean {
  return row.type !== 'step';
}

/** One narrative entry as a row. A row passes through, so that projecting twice is projecting once. */
export function toWalkRow(entry: CombinedNarrativeEntry | WalkRow): WalkRow {
  if ('stage_id' in entry) return entry;
  return {
    step: entry.stepNumber ?? null,
    type: entry.type,
    depth: entry.depth,
    stage: entry.stageName === undefined ? null : cleanText(entry.stageName),
    stage_id: entry.stageId ?? null,
    runtime_stage_id: entry.runtimeStageId ?? null,
    subflow: entry.subflowId ?? null,
    text: cleanText(entry.text),
  };
}

/** The rows of one subject's own chart inside a run's walk: their ids get the subject's ordinal in front. */
export function prefixWalk(rows: readonly WalkRow[], prefix: string): WalkRow[] {
  return rows.map((row) => ({
    ...row,
    stage_id: row.stage_id === null ? null : `${prefix}/${row.stage_id}`,
    runtime_stage_id: row.runtime_stage_id === null ? null : `${prefix}/${row.runtime_stage_id}`,
    subflow: row.subflow === null ? prefix : `${prefix}/${row.subflow}`,
  }));
}
