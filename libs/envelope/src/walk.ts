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

/** One row; a column that does not apply is null. `step` is the row's place in the walk it is part of, from 0. */
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

/** What {@link projectWalk} gives: the rows that fit, and the counts that say what did not. */
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
  const rows = toWalkRows(entries);
  return projectRows(rows, countWalk(rows), cap);
}

/**
 * The cap law over rows of which some may have been left out by a reader that already had enough: `counts` speak for the
 * whole walk.
 */
export function projectRows(rows: readonly WalkRow[], counts: WalkCounts, cap: number): ProjectedWalk {
  const full = counts.rows <= cap;
  const kept = full ? rows : rows.filter(isControlFlow).slice(0, cap);
  return {
    rows: kept.map((row, step) => (row.step === step ? row : { ...row, step })),
    projection: full ? 'full' : 'control-flow',
    shown: kept.length,
    total: counts.rows,
    complete: kept.length === counts.rows,
    stepsExecuted: counts.steps,
  };
}

/** Counts a walk. */
export function countWalk(rows: readonly WalkRow[]): WalkCounts {
  return countRows(rows, (row) => row.runtime_stage_id ?? undefined);
}

/** Counts a walk while its ids are still short: in front of their place in a larger run. */
export function countEntries(entries: readonly CombinedNarrativeEntry[]): WalkCounts {
  return countRows(entries, (entry) => entry.runtimeStageId);
}

function countRows<Row extends { readonly type: string }>(
  rows: readonly Row[],
  stepOf: (row: Row) => string | undefined,
): WalkCounts {
  const steps = new Set<string>();
  let controlRows = 0;
  let last: string | undefined;
  for (const row of rows) {
    if (isControlFlow(row)) controlRows++;
    const step = stepOf(row);
    // The rows of one step mostly come together.
    if (step === undefined || step === last) continue;
    steps.add(step);
    last = step;
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
export function isControlFlow(row: { readonly type: string }): boolean {
  return row.type !== 'step';
}

/**
 * Narrative entries as rows, numbered from 0. What is a row already passes through, so that projecting twice is
 * projecting once.
 *
 * @param prefix put in front of the ids: the place of a subject's own chart inside a run's walk
 */
export function toWalkRows(entries: readonly (CombinedNarrativeEntry | WalkRow)[], prefix?: string): WalkRow[] {
  let last: { readonly entry: CombinedNarrativeEntry; readonly row: WalkRow } | undefined;
  return entries.map((entry, step) => {
    if ('stage_id' in entry) return entry;
    // The rows of one stage mostly come together: its names are made once.
    const names = last !== undefined && isSamePlace(last.entry, entry) ? last.row : undefined;
    const row: WalkRow = {
      step,
      type: entry.type,
      depth: entry.depth,
      stage: names === undefined ? cleanName(entry.stageName) : names.stage,
      stage_id: names === undefined ? placed(entry.stageId, prefix) : names.stage_id,
      runtime_stage_id: names === undefined ? placed(entry.runtimeStageId, prefix) : names.runtime_stage_id,
      subflow: names === undefined ? (placed(entry.subflowId, prefix) ?? prefix ?? null) : names.subflow,
      text: cleanText(entry.text),
    };
    last = { entry, row };
    return row;
  });
}

function isSamePlace(left: CombinedNarrativeEntry, right: CombinedNarrativeEntry): boolean {
  return (
    left.stageName === right.stageName &&
    left.runtimeStageId === right.runtimeStageId &&
    left.stageId === right.stageId &&
    left.subflowId === right.subflowId
  );
}

function cleanName(name: string | undefined): string | null {
  return name === undefined ? null : cleanText(name);
}

function placed(id: string | undefined, prefix: string | undefined): string | null {
  if (id === undefined) return null;
  return prefix === undefined ? id : `${prefix}/${id}`;
}
