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
  legs: z.array(z.looseObject({ walk: z.array(z.unknown()), decisions: z.array(z.unknown()) })).min(1),
  hiddenKeys: z.array(z.string()),
  chart: z.looseObject({ pausedStageId: z.string(), sharedState: z.record(z.string(), z.unknown()) }),
});

/** The checkpoint as JSON text. @throws TypeError for state that is no JSON */
export function writeCheckpoint(checkpoint: ProcedureCheckpoint): string {
  return JSON.stringify({ version: VERSION, ...checkpoint });
}

/** Reads what {@link writeCheckpoint} wrote; undefined for anything else. */
export function readCheckpoint(text: string): ProcedureCheckpoint | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const parsed = checkpointSchema.safeParse(value);
  // It is checked to be ours and whole; its parts are what this module wrote.
  return parsed.success ? (parsed.data as unknown as ProcedureCheckpoint) : undefined;
}

/** What a leg that has just been run contributes. */
export function legOf(run: ChartRun, records: readonly InnerCallRecord[]): ProcedureLeg {
  const { walk, walkCounts, decisions, branchFailures } = run;
  return { walk, walkCounts, decisions, branchFailures, ...innerDeclarations(records) };
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
