/**
 * The failed branches of a run's fan-outs. The substrate leaves an undefined slot and no name where a branch failed
 * (FACTS); here each becomes a failure with its place and reason, which the ledger declares.
 */
import type { FlowChartExecutor } from 'footprintjs';
import type { CoverageEntry } from './coverage.ts';
import { errorIdentity } from './error-identity.ts';
import type { FanOut } from './guard-chart.ts';

/** One branch that failed while its run went on. */
export interface BranchFailure {
  /** The fan-out's stage, by name, and by id with its path. */
  readonly fanOut: string;
  readonly stageId: string;
  readonly index: number;
  /** The error's name and code. */
  readonly reason: string;
}

/** How many items a ledger entry names. */
const MAX_NAMED_ITEMS = 20;

/** Watches a run's fan-outs; `failures` is to be read when the run has ended. */
export function watchFanOuts(executor: FlowChartExecutor, fanOuts: ReadonlyMap<string, FanOut>) {
  const errors: { stageId: string; reason: string }[] = [];
  const empty = new Map<string, { fanOut: string; stageId: string; index: number }>();
  executor.attachFlowRecorder({
    id: 'muster-fan-outs',
    onError(event) {
      const stageId = event.traversalContext?.stageId;
      if (stageId !== undefined) errors.push({ stageId, reason: errorIdentity(event.structuredError.raw) });
    },
  });
  executor.attachScopeRecorder({
    id: 'muster-fan-outs',
    onWrite({ key, value, ...event }) {
      const { stageId } = event as { stageId?: string };
      if (stageId === undefined || !Array.isArray(value)) return;
      const fanOut = fanOuts.get(stageId.slice(stageId.lastIndexOf('/') + 1));
      if (fanOut?.into !== key) return;
      for (const [index, slot] of value.entries()) {
        if (slot === undefined) empty.set(`${stageId}~${index}`, { fanOut: fanOut.name, stageId, index });
      }
    },
  });
  return {
    failures(): BranchFailure[] {
      return [...empty].map(([path, place]) => {
        const error = errors.find(({ stageId }) => stageId === path || stageId.startsWith(`${path}/`));
        return { ...place, reason: error?.reason ?? 'it gave nothing' };
      });
    },
  };
}

/** The failures as ledger entries: one for each fan-out and reason. */
export function branchFailureEntries(failures: readonly BranchFailure[]): CoverageEntry[] {
  const groups = new Map<string, BranchFailure[]>();
  for (const failure of failures) {
    const id = JSON.stringify([failure.stageId, failure.reason]);
    groups.set(id, [...(groups.get(id) ?? []), failure]);
  }
  return [...groups.values()].map((group) => {
    const { fanOut, stageId, reason } = group[0] as BranchFailure;
    const named = group.slice(0, MAX_NAMED_ITEMS).map(({ index }) => index);
    const rest = group.length > named.length ? ` and ${group.length - named.length} more` : '';
    return {
      what: `${group.length} item(s) of the fan-out '${fanOut}' (${stageId}), counted from 0: ${named.join(', ')}${rest}`,
      why: `the branch failed: ${reason}`,
    };
  });
}
