/**
 * Where a procedure stands that waits for an answer: the substrate's own checkpoint, and what the legs up to here contribute
 * to the answer. Plain JSON of a version, because another process, of another day, goes on from it.
 *
 * It holds everything unredacted, run input included: whoever stores it encrypts it.
 */
import type { RedactionPolicy } from 'footprintjs';
import { z } from 'zod';
import type { BranchFailure } from './branch-failures.ts';
import type { ChartCheckpoint } from './chart-pause.ts';
import { type InnerDeclarations, innerDeclarations } from './chart-summary.ts';
import { mergeLedgers } from './coverage.ts';
import type { Decision } from './decision.ts';
import { emptySlots, restoreEmptySlots } from './json-state.ts';
import type { ChartRun } from './run-chart.ts';
import type { InnerCallRecord } from './tool-dispatch.ts';
import { addWalkCounts, NO_WALK, type WalkCounts, type WalkRow } from './walk.ts';

const VERSION = 1;

/** What one leg of a procedure, from its beginning or a resume to a question, contributes to the answer. */
export interface ProcedureLeg extends InnerDeclarations {
  readonly walk: readonly WalkRow[];
  readonly walkCounts: WalkCounts;
  readonly decisions: readonly Decision[];
  readonly branchFailures: readonly BranchFailure[];
  /** How many inner calls it made. */
  readonly calls: number;
}

/** A checkpoint as it is read back. */
export interface ProcedureCheckpoint {
  readonly args: Readonly<Record<string, unknown>>;
  readonly legs: readonly ProcedureLeg[];
  /** Keys that stages marked as sensitive: the marks themselves are lost between two processes. */
  readonly hiddenKeys?: readonly string[];
  readonly chart: ChartCheckpoint;
}

const checkpointSchema = z.object({
  version: z.literal(VERSION),
  args: z.record(z.string(), z.unknown()),
  legs: z.array(z.looseObject({ walk: z.array(z.unknown()), decisions: z.array(z.unknown()), calls: z.int() })).min(1),
  hiddenKeys: z.array(z.string()),
  emptySlots: z.array(z.array(z.array(z.union([z.string(), z.number()])))),
  chart: z.looseObject({ pausedStageId: z.string(), sharedState: z.record(z.string(), z.unknown()) }),
});

/** The checkpoint as JSON text. @throws NotJsonError for state that would not come back as it is */
export function writeCheckpoint(checkpoint: ProcedureCheckpoint): string {
  const emptied = statesOf(checkpoint.chart).map(emptySlots);
  return JSON.stringify({ version: VERSION, ...checkpoint, emptySlots: emptied });
}

/** Reads what {@link writeCheckpoint} wrote; undefined for anything else. */
export function readCheckpoint(text: string): ProcedureCheckpoint | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  // It is checked to be ours and whole; its parts are what this module wrote, and zod's own copy would lose a key `__proto__`.
  const parsed = checkpointSchema.safeParse(value);
  if (!parsed.success) return undefined;
  const checkpoint = value as ProcedureCheckpoint;
  for (const [index, state] of statesOf(checkpoint.chart).entries()) {
    restoreEmptySlots(state, parsed.data.emptySlots[index] ?? []);
  }
  return checkpoint;
}

/** The state of the chart, and of the subflows it is in. */
function statesOf({ sharedState, subflowStates }: ChartCheckpoint): Record<string, unknown>[] {
  return [sharedState, ...Object.values(subflowStates ?? {})];
}

/** What a leg that has just been run contributes. */
export function legOf(run: ChartRun, records: readonly InnerCallRecord[]): ProcedureLeg {
  const { walk, walkCounts, decisions, branchFailures } = run;
  return { walk, walkCounts, decisions, branchFailures, calls: records.length, ...innerDeclarations(records) };
}

/** The legs of a run, in their order, as one. */
export function joinLegs(legs: readonly ProcedureLeg[]): ProcedureLeg {
  const [only] = legs;
  if (legs.length === 1 && only !== undefined) return only;
  const stamp = legs.find((leg) => leg.stamp !== undefined)?.stamp;
  return {
    walk: legs.flatMap((leg) => leg.walk).map((row, step) => ({ ...row, step })),
    walkCounts: legs.map((leg) => leg.walkCounts).reduce(addWalkCounts, NO_WALK),
    decisions: legs.flatMap((leg) => leg.decisions),
    branchFailures: legs.flatMap((leg) => leg.branchFailures),
    calls: legs.reduce((sum, leg) => sum + leg.calls, 0),
    innerLedger: mergeLedgers(legs.map((leg) => leg.innerLedger)),
    ...(stamp !== undefined && { stamp }),
  };
}

/** A policy with the keys that an earlier leg hid. */
export function withHiddenKeys(
  policy: RedactionPolicy | undefined,
  keys: readonly string[] | undefined,
): RedactionPolicy | undefined {
  if (keys === undefined || keys.length === 0) return policy;
  return { ...policy, keys: [...new Set([...(policy?.keys ?? []), ...keys])] };
}
