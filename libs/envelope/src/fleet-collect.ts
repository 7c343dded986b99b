/**
 * Collect: the counters, the totals and a page of rows become the one answer of a fleet run.
 *
 * Invariant (DESIGN 10): the answer is bounded whatever the fleet. Rows come `problem`, `declined`, `ok`, then by
 * ordinal, to the runbook's cap; subjects that were not checked are grouped by reason with counts and sample keys.
 */
import type { Answer } from './answer.ts';
import { RunFailure } from './answer.ts';
import { type AnswerDeclaration, answerDeclaration } from './answer-declaration.ts';
import type { ChangesNote } from './changes-note.ts';
import { ChartClock } from './chart-clock.ts';
import { type ChartSummary, innerDeclarations, summariseChart } from './chart-summary.ts';
import type { CoverageEntry, Ledger } from './coverage.ts';
import { EMPTY_LEDGER, mergeLedgers } from './coverage.ts';
import type { FleetRunbook } from './define-runbook.ts';
import { composeEnvelope, type DryRunNote, type EnvelopeParts, type RerunNote } from './envelope.ts';
import type { FleetPlan, NamedCount } from './fleet-plan.ts';
import { type FleetTotals, MAX_LEDGER_ENTRIES, totalsLedger } from './fleet-totals.ts';
import { failureOrAbsence, type RunCall } from './procedure-run.ts';
import { runChart } from './run-chart.ts';
import type { RunArgs, Standing, SubjectCounts } from './runbook.ts';
import { recordingDispatch } from './tool-dispatch.ts';
import { mergeHeard, verdictMeanings } from './verdict-meanings.ts';
import type { VerdictRow } from './verdict-rows.ts';
import { DEFAULT_MAX_ROWS } from './verdict-rows.ts';
import { addWalkCounts, isControlFlow, NO_WALK, projectRows, type WalkRow } from './walk.ts';
import { mintWalk } from './walk-artifact.ts';

/** A settled subject as a row is made of it. */
export interface RowSource {
  readonly key: string;
  readonly verdict?: string;
  readonly standing?: Standing;
  readonly reason: string;
  readonly columns: Readonly<Record<string, unknown>>;
}

/** Subjects that ended without a verdict for one reason. */
export interface OpenGroup {
  readonly outcome: 'not_checked' | 'cannot_cover';
  readonly reason: string;
  readonly count: number;
  /** The first few keys, by ordinal. */
  readonly samples: readonly string[];
}

/** The groups in the order of their first subjects; what is over the limit is counted. */
export interface OpenGroups {
  readonly groups: readonly OpenGroup[];
  readonly restGroups: number;
  readonly restSubjects: number;
}

/** What collect composes from. `plan` is absent when the run was stopped before it had one. */
export interface FleetResults {
  readonly plan?: Omit<FleetPlan, 'walk'>;
  readonly counts: SubjectCounts;
  readonly totals: FleetTotals;
  /** The first rows in the order of the answer, at least `maxRows` of them when there are so many. */
  readonly head: readonly RowSource[];
  readonly open: OpenGroups;
  /** The run's walk in order: plan, then the subjects. Read only as far as the cap needs. */
  readonly walk: () => AsyncIterable<readonly WalkRow[]>;
  /** Said in the ledger when the run was stopped early. */
  readonly stopped?: CoverageEntry;
  /** Where the walks of single subjects are listed. */
  readonly manifestRef?: string;
  /** Nothing was assessed: the counters say how many subjects there are, all of them not checked. */
  readonly dryRun?: DryRunNote;
  /** This run does a part of another one again. */
  readonly rerun?: RerunNote;
}

/** The order of rows in a fleet's answer. */
export const STANDING_ORDER: readonly Standing[] = ['problem', 'declined', 'ok'];

/** One row of the answer, its columns in order. */
export function fleetRow(source: RowSource): VerdictRow {
  return {
    subject: source.key,
    verdict: source.verdict ?? '',
    standing: source.standing,
    reason: source.reason,
    ...source.columns,
  };
}

/** How many rows an answer of this runbook shows at most. */
export function maxRowsOf(runbook: FleetRunbook): number {
  return runbook.verdicts.maxRows ?? DEFAULT_MAX_ROWS;
}

/**
 * Composes the answer of a fleet run; runs the collect chart when the runbook has one.
 *
 * The counters must add up: a mismatch is a failure with the code `ledger_mismatch`, not an answer.
 */
export async function collectFleet(
  runbook: FleetRunbook,
  args: RunArgs,
  call: RunCall,
  results: FleetResults,
): Promise<Answer> {
  const mismatch = findMismatch(results);
  if (mismatch !== undefined) return mismatch;
  // A report over counters that nobody assessed would read like one that was.
  const collected: Collected =
    results.dryRun === undefined
      ? await runCollectChart(runbook, args, call, results.counts)
      : { kind: 'summary', walk: [] };
  if (collected.kind !== 'summary') return collected;
  return await composeAnswer(answerDeclaration(runbook), call, results, collected);
}

/**
 * Composes the answer of a fleet run of what its runbook declared, without any chart: nobody has them any more, or they
 * were not given the time. Where the runbook sums its fleet up itself, the ledger says that this was left out, and `why`.
 */
export async function collectDeclared(
  declared: AnswerDeclaration,
  call: RunCall,
  results: FleetResults,
  why: string,
): Promise<Answer> {
  const mismatch = findMismatch(results);
  if (mismatch !== undefined) return mismatch;
  const left =
    declared.sumsUp && results.dryRun === undefined
      ? [{ what: `the collect chart of '${declared.name}', which sums the run up`, why }]
      : [];
  return await composeAnswer(declared, call, results, { walk: [] }, { ...EMPTY_LEDGER, notChecked: left });
}

function findMismatch({ counts }: FleetResults): Answer | undefined {
  const sum = counts.ok + counts.problem + counts.declined + counts.not_checked + counts.cannot_cover;
  if (sum === counts.total) return undefined;
  const message = `the subjects of this run add up to ${sum}, but ${counts.total} were planned`;
  return { kind: 'failure', error: new RunFailure('ledger_mismatch', message) };
}

async function composeAnswer(
  declared: AnswerDeclaration,
  call: RunCall,
  results: FleetResults,
  collected: Pick<Summarised, 'summary' | 'walk'>,
  left: Ledger = EMPTY_LEDGER,
): Promise<Answer> {
  const { counts, plan, totals } = results;
  const own = collected.summary;
  const planned = plan?.summary;
  const walkCounts = addWalkCounts(addWalkCounts(planned?.walk ?? NO_WALK, totals.walk), own?.walk ?? NO_WALK);
  const cap = declared.walkCap;
  const rows = await takeRows(results.walk(), collected.walk, cap, walkCounts.rows <= cap);
  const walk = projectRows(rows, walkCounts, cap);
  const facts = { toolName: declared.name, toolCallId: call.toolCallId, runId: call.runId };
  const manifest = results.manifestRef === undefined ? {} : { manifest_ref: results.manifestRef };
  const descriptor = { ...(await mintWalk(call.artifacts, walk, facts)), ...plan?.recording, ...manifest };
  const heard = [planned?.heard, totals.heard, own?.heard].filter((labels) => labels !== undefined).reduce(mergeHeard);
  const stamp = planned?.stamp ?? totals.stamp?.value ?? own?.stamp;
  const parts: EnvelopeParts = {
    toolName: declared.name,
    toolCallId: call.toolCallId,
    // Three charts made this answer: it is the runbook that ran.
    chartName: declared.name,
    resultKind: declared.resultKind,
    rules: declared.rules,
    presentation: declared.presentation,
    steps: walk.stepsExecuted,
    innerLedger: ledgerOf([bounded(planned?.innerLedger), totalsLedger(totals), bounded(own?.innerLedger)]),
    ownLedger: ledgerOf([bounded(planned?.ownLedger), bounded(own?.ownLedger)]),
    runLedger: ledgerOf([left, runLedger(results)]),
    stamp,
    report: own?.report ?? planned?.report,
    rows: {
      shown: results.head.slice(0, declared.maxRows).map(fleetRow),
      total: counts.ok + counts.problem + counts.declined,
      declined: counts.declined,
    },
    meanings: verdictMeanings(declared.meanings, heard),
    subjects: counts,
    ...(results.dryRun !== undefined && { dryRun: results.dryRun }),
    ...(results.rerun !== undefined && { rerun: results.rerun }),
    walk: descriptor,
  };
  const withChanges = (changes: ChangesNote) => composeEnvelope({ ...parts, changes });
  return { kind: 'envelope', body: composeEnvelope(parts), withChanges };
}

interface Summarised {
  readonly kind: 'summary';
  readonly summary?: ChartSummary;
  readonly walk: readonly WalkRow[];
}

type Collected = Summarised | Extract<Answer, { kind: 'absence' | 'failure' }>;

async function runCollectChart(
  runbook: FleetRunbook,
  args: RunArgs,
  call: RunCall,
  counts: SubjectCounts,
): Promise<Collected> {
  if (runbook.fleet.collect === undefined) return { kind: 'summary', walk: [] };
  const clock = new ChartClock();
  const { tools, records } = recordingDispatch(call.tools, runbook.name, clock);
  const run = await runChart(runbook.fleet.collect(tools), {
    input: { ...args, counts },
    signal: call.signal,
    stopSignal: call.stopSignal,
    clock,
    timeoutMs: call.timeoutMs ?? runbook.limits.chartTimeoutMs,
    redact: runbook.redact,
    timers: call.timers,
  });
  if (run.outcome === 'completed') {
    return {
      kind: 'summary',
      summary: summariseChart(run, innerDeclarations(records), runbook.verdicts.decider),
      walk: run.walk,
    };
  }
  if (run.outcome === 'paused') {
    const message = `the collect chart of '${runbook.name}' paused; only a bounded procedure may`;
    return { kind: 'failure', error: new RunFailure('paused', message) };
  }
  return failureOrAbsence(run.error);
}

/** The rows that the cap law will keep: all of them when they fit, else the first of the control flow. */
async function takeRows(
  pages: AsyncIterable<readonly WalkRow[]>,
  last: readonly WalkRow[],
  cap: number,
  full: boolean,
): Promise<WalkRow[]> {
  const kept: WalkRow[] = [];
  const take = (rows: readonly WalkRow[]) => {
    for (const row of rows) if (kept.length < cap && (full || isControlFlow(row))) kept.push(row);
  };
  for await (const rows of pages) {
    take(rows);
    if (kept.length >= cap) return kept;
  }
  take(last);
  return kept;
}

function runLedger(results: FleetResults): Ledger {
  const notChecked: CoverageEntry[] = [];
  const cannotCover: CoverageEntry[] = [];
  if (results.stopped !== undefined) notChecked.push(results.stopped);
  if (results.dryRun !== undefined && results.counts.total > 0) {
    const why = 'this was a dry run: the subjects were counted, and none was assessed';
    notChecked.push({ what: `${results.counts.total} subject(s)`, why });
  }
  for (const group of results.open.groups) {
    const what = `${group.count} subject(s): ${group.samples.join(', ')}${andMore(group)}`;
    const entry = { what, why: group.reason };
    (group.outcome === 'not_checked' ? notChecked : cannotCover).push(entry);
  }
  if (results.open.restGroups > 0) {
    const what = `${results.open.restSubjects} further subject(s), for ${results.open.restGroups} other reason(s)`;
    notChecked.push({ what, why: 'an answer lists a bounded number of reasons; the rows name them all' });
  }
  const duplicates = results.plan?.duplicates;
  if (duplicates !== undefined && duplicates.count > 0) {
    notChecked.push({
      what: `${duplicates.count} further subject(s) with a key that was taken: ${duplicates.samples.join(', ')}`,
      why: 'the first subject of a key is judged, the rest are counted',
    });
  }
  const missing = results.plan?.missing;
  if (missing !== undefined && missing.count > 0) {
    const what = `${missing.count} chosen subject(s): ${missing.samples.join(', ')}${andMore(missing)}`;
    notChecked.push({ what, why: 'no longer planned: the plan of this run did not find them' });
  }
  return { checked: [], notChecked, cannotCover };
}

function andMore({ count, samples }: NamedCount): string {
  return count > samples.length ? ` and ${count - samples.length} more` : '';
}

/** A chart's ledger to the bound of a fleet's answer: a plan may declare an entry for each thing it found. */
function bounded(ledger: Ledger | undefined): Ledger | undefined {
  if (ledger === undefined) return undefined;
  const cut = (entries: readonly CoverageEntry[]): readonly CoverageEntry[] =>
    entries.length <= MAX_LEDGER_ENTRIES
      ? entries
      : [
          ...entries.slice(0, MAX_LEDGER_ENTRIES),
          {
            what: `${entries.length - MAX_LEDGER_ENTRIES} further entries of one chart`,
            why: `an answer lists ${MAX_LEDGER_ENTRIES} distinct entries of a chart at most`,
          },
        ];
  return { checked: cut(ledger.checked), notChecked: cut(ledger.notChecked), cannotCover: cut(ledger.cannotCover) };
}

function ledgerOf(ledgers: readonly (Ledger | undefined)[]): Ledger {
  return mergeLedgers(ledgers.filter((ledger) => ledger !== undefined));
}
