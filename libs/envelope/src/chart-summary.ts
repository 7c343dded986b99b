/**
 * What is kept of one chart's run for the answer: its ledgers, the first stamp, the labels heard, its walk counters.
 * Plain JSON, so that a summary can be stored by one process and composed by another.
 */
import { branchFailureEntries } from './branch-failures.ts';
import { cleanJson } from './clean-text.ts';
import type { CoverageEntry, Ledger } from './coverage.ts';
import { EMPTY_LEDGER, ledgerOfResult, mergeLedgers, readLedger } from './coverage.ts';
import { isPlainObject } from './plain-object.ts';
import type { ChartRun } from './run-chart.ts';
import type { InnerCallRecord } from './tool-dispatch.ts';
import type { HeardLabels } from './verdict-meanings.ts';
import { hearLabels } from './verdict-meanings.ts';
import type { WalkCounts } from './walk.ts';

/** What one run of a chart leaves for an answer to be composed of. */
export interface ChartSummary {
  readonly innerLedger: Ledger;
  readonly ownLedger: Ledger;
  readonly stamp?: Readonly<Record<string, unknown>>;
  readonly heard: HeardLabels;
  readonly walk: WalkCounts;
  readonly report?: unknown;
}

/** What a run's inner calls declared. */
export type InnerDeclarations = Pick<ChartSummary, 'innerLedger' | 'stamp'>;

/** Reads what inner calls declared. */
export function innerDeclarations(records: readonly InnerCallRecord[]): InnerDeclarations {
  const stamp = firstStamp(records);
  return { innerLedger: innerLedger(records), ...(stamp !== undefined && { stamp }) };
}

/** Sums up a chart's run. Branches that failed are declared after what the chart declared itself. */
export function summariseChart(run: ChartRun, inner: InnerDeclarations, decider: string): ChartSummary {
  return {
    ...inner,
    ownLedger: ownLedger(run),
    heard: hearLabels(run.decisions, decider),
    walk: run.walkCounts,
    ...(run.state.report !== undefined && { report: cleanJson(run.state.report) }),
  };
}

/** The ledgers of inner calls, folded in the order of the calls; an absence that was allowed declares its own. */
function innerLedger(records: readonly InnerCallRecord[]): Ledger {
  return mergeLedgers(records.map((record) => cleanLedger(ledgerOfResult(record.result))));
}

/** The first provenance that an inner result declared: on its payload, else at its top level. */
function firstStamp(records: readonly InnerCallRecord[]): Readonly<Record<string, unknown>> | undefined {
  for (const { result } of records) {
    if (!isPlainObject(result)) continue;
    for (const place of [result.result, result]) {
      if (isPlainObject(place) && isPlainObject(place.af_provenance)) {
        return cleanJson(place.af_provenance) as Record<string, unknown>;
      }
    }
  }
  return undefined;
}

function ownLedger(run: ChartRun): Ledger {
  const declared = cleanLedger(readLedger(run.state.coverage));
  if (run.branchFailures.length === 0) return declared;
  return mergeLedgers([declared, { ...EMPTY_LEDGER, notChecked: branchFailureEntries(run.branchFailures) }]);
}

function cleanLedger(ledger: Ledger): Ledger {
  if (ledger === EMPTY_LEDGER) return ledger;
  const clean = (entries: readonly CoverageEntry[]) => entries.map((entry) => cleanJson(entry) as CoverageEntry);
  return {
    checked: clean(ledger.checked),
    notChecked: clean(ledger.notChecked),
    cannotCover: clean(ledger.cannotCover),
  };
}
