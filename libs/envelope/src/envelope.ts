/**
 * Composes the answer: the spine on every answer, the verdict projection where the result kind asks for it.
 *
 * Invariants (contract "What every answer carries"): key order of `result` is provenance, rule version, the chart's
 * report, the projection, the report note, the walk; the ledger folds inner tools first, the chart's own second, ours
 * last; a reserved name in a report is dropped and named, never merged.
 */
import { type ChangesNote, changesClause } from './changes-note.ts';
import { cleanJson, defineKey } from './clean-text.ts';
import type { CoverageEntry, CoverageLists, Ledger } from './coverage.ts';
import { COVERAGE_NOTE, coverageLists, EMPTY_LEDGER, mergeLedgers } from './coverage.ts';
import { isPlainObject } from './plain-object.ts';
import type { RunbookPresentation, RunbookRules, SubjectCounts } from './runbook.ts';
import type { VerdictRow } from './verdict-rows.ts';
import { DECLINED_VERDICT, PANEL_RENDER_NOTE, renderVerdictTable, VERDICT_RENDER_NOTE } from './verdict-rows.ts';
import type { WalkDescriptor } from './walk-artifact.ts';

/** What stands for the rule version when the runbook declared none. */
export const UNDECLARED_RULE_VERSION = 'undeclared';

/** The evidence envelope: what a run answers. */
export interface RunbookEnvelope {
  readonly af_coverage: CoverageLists & { readonly note: string; readonly sentence: string };
  readonly result: {
    readonly af_provenance: Readonly<Record<string, unknown>>;
    readonly rule_version: string;
    readonly verdicts?: readonly VerdictRow[];
    readonly rows_shown?: number;
    readonly rows_total?: number;
    readonly rows_complete?: boolean;
    readonly table?: string;
    readonly render_note?: string;
    readonly verdict_meanings?: Readonly<Record<string, string>>;
    readonly subjects?: SubjectCounts;
    readonly dry_run?: DryRunNote;
    readonly rerun?: RerunNote;
    /** What changed, where the run was looked at for that: {@link ChangesNote}. Else a chart's report may have it. */
    readonly changes?: ChangesNote;
    readonly report_note?: string;
    readonly walk: WalkDescriptor;
    readonly [field: string]: unknown;
  };
}

/** What a dry run counted. The subjects without a target are `without`. */
export interface DryRunNote {
  readonly subjects: number;
  /** The targets with the most subjects first; absent where the runbook declares none. */
  readonly targets?: {
    readonly distinct: number;
    readonly without: number;
    readonly top: readonly { readonly target: string; readonly subjects: number }[];
  };
}

/** Which part of which run was done again: subjects that had ended so, or so many that were named. */
export interface RerunNote {
  readonly of: string;
  readonly only?: readonly string[];
  readonly subjects?: number;
  /** The runbook is not the one that judged the run before. */
  readonly definition_changed: boolean;
}

/** The rows an answer shows, and the counts of those it does not. */
export interface RowSet {
  /** In the order they are shown, already cut to the cap. */
  readonly shown: readonly VerdictRow[];
  readonly total: number;
  readonly declined: number;
}

export interface EnvelopeParts {
  readonly toolName: string;
  readonly toolCallId: string;
  readonly chartName: string;
  readonly resultKind: string;
  readonly rules?: RunbookRules;
  readonly presentation?: RunbookPresentation;
  readonly steps: number;
  /** Ledgers of inner tools, in the order of their calls. */
  readonly innerLedger: Ledger;
  /** What the chart wrote under `coverage`. */
  readonly ownLedger: Ledger;
  /** Entries of the run itself, after the procedure's own: subjects that were not checked. */
  readonly runLedger?: Ledger;
  /** The first provenance an inner source declared. */
  readonly stamp?: Readonly<Record<string, unknown>>;
  /** What the chart wrote under `report`. */
  readonly report: unknown;
  readonly rows: RowSet;
  readonly meanings?: Readonly<Record<string, string>>;
  readonly subjects?: SubjectCounts;
  readonly dryRun?: DryRunNote;
  readonly rerun?: RerunNote;
  readonly changes?: ChangesNote;
  readonly walk: WalkDescriptor;
}

const SPINE_NAMES = ['af_coverage', 'af_provenance', 'rule_version', 'dry_run', 'rerun', 'report_note', 'walk'];
const PROJECTION_NAMES = [
  'verdicts',
  'rows_shown',
  'rows_total',
  'rows_complete',
  'table',
  'render_note',
  'verdict_meanings',
];

/** Whether a result kind asks for the verdict projection. */
export function isVerdictKind(resultKind: string): boolean {
  return resultKind.startsWith('verdict/');
}

/** Composes the envelope. Pure: the same parts give the same answer. */
export function composeEnvelope(parts: EnvelopeParts): RunbookEnvelope {
  const verdictShaped = isVerdictKind(parts.resultKind);
  const ledger = mergeLedgers([
    parts.innerLedger,
    parts.ownLedger,
    bridgeLedger(parts, verdictShaped),
    parts.runLedger ?? EMPTY_LEDGER,
  ]);
  const result: Record<string, unknown> = {
    af_provenance: { ...parts.stamp, tool: parts.toolName, toolCallId: parts.toolCallId },
    rule_version: ruleVersion(parts.rules),
  };
  const refused = spreadReport(result, parts.report, [
    ...SPINE_NAMES,
    ...(verdictShaped ? PROJECTION_NAMES : []),
    ...(parts.subjects === undefined ? [] : ['subjects']),
    ...(parts.changes === undefined ? [] : ['changes']),
  ]);
  if (verdictShaped) Object.assign(result, projection(parts));
  if (parts.subjects !== undefined) result.subjects = parts.subjects;
  if (parts.dryRun !== undefined) result.dry_run = parts.dryRun;
  if (parts.rerun !== undefined) result.rerun = parts.rerun;
  if (parts.changes !== undefined) result.changes = parts.changes;
  if (refused.length > 0) {
    const names = refused.map((field) => `\`${field}\``).join(', ');
    result.report_note = `The chart's report spelled ${names}: names that the envelope keeps for itself. What the report had there was left out; what stands there is the envelope's own.`;
  }
  result.walk = parts.walk;
  return {
    af_coverage: { ...coverageLists(ledger), note: COVERAGE_NOTE, sentence: sentence(parts, verdictShaped, ledger) },
    result: result as RunbookEnvelope['result'],
  };
}

/** The declared rule version, or the word for none. */
export function ruleVersion(rules: RunbookRules | undefined): string {
  return rules?.version ?? UNDECLARED_RULE_VERSION;
}

/** Counts the rows that reached no classification. */
export function countDeclined(rows: readonly VerdictRow[]): number {
  return rows.filter((row) => row.verdict === DECLINED_VERDICT).length;
}

function projection(parts: EnvelopeParts): Record<string, unknown> {
  const { shown, total } = parts.rows;
  const panel = parts.presentation === 'panel';
  return {
    verdicts: shown,
    rows_shown: shown.length,
    rows_total: total,
    rows_complete: shown.length === total,
    ...(!panel && { table: renderVerdictTable(shown) }),
    render_note: panel ? PANEL_RENDER_NOTE : VERDICT_RENDER_NOTE,
    ...(parts.meanings !== undefined && { verdict_meanings: parts.meanings }),
  };
}

function bridgeLedger(parts: EnvelopeParts, verdictShaped: boolean): Ledger {
  const checked: CoverageEntry[] = [];
  // A run that was stopped before its first step has checked nothing by its procedure.
  if (parts.steps > 0) {
    const what =
      parts.dryRun === undefined
        ? `the procedure '${parts.chartName}': ${parts.steps} step(s) recorded under ${ruleSet(parts.rules)}`
        : `the plan of '${parts.chartName}': ${parts.steps} step(s) recorded; no rule was applied`;
    checked.push({ what });
  }
  const { declined } = parts.rows;
  const notChecked: CoverageEntry[] = [];
  if (verdictShaped && declined > 0) {
    notChecked.push({
      what: `${declined} row(s) that reached NO classification (verdict '${DECLINED_VERDICT}')`,
      why: 'the rules found no signal that they could judge by; these rows are neither fine nor faulty',
    });
  }
  return { checked, notChecked, cannotCover: [] };
}

function sentence(parts: EnvelopeParts, verdictShaped: boolean, ledger: Ledger): string {
  const again = parts.rerun === undefined ? '' : `; a part of run ${parts.rerun.of} again`;
  const declared = `${ledger.notChecked.length} not-checked item(s) declared.`;
  if (parts.dryRun !== undefined) {
    const counted = `${parts.dryRun.subjects} subject(s) counted, none assessed`;
    return `Dry run of '${parts.chartName}': ${parts.steps} step(s) of its plan recorded${again}; ${counted}; ${declared}`;
  }
  const ran = `Ran '${parts.chartName}' under ${ruleSet(parts.rules)}: ${parts.steps} step(s) recorded${again}`;
  const { total, declined } = parts.rows;
  const rows = verdictShaped ? `; ${total} row(s) assessed, ${declined} declined (no classification reached)` : '';
  const subjects = parts.subjects;
  const open = subjects === undefined ? '' : subjectsClause(subjects);
  return `${ran}${rows}${open}${changesClause(parts.changes)}; ${declared}`;
}

function subjectsClause(counts: SubjectCounts): string {
  return `; of ${counts.total} subject(s) ${counts.not_checked} were not checked and ${counts.cannot_cover} cannot be covered`;
}

function ruleSet(rules: RunbookRules | undefined): string {
  return rules === undefined ? 'no declared rule set' : `${rules.name} ${rules.version}`;
}

/** Spreads the report's fields; returns the names that were refused. */
function spreadReport(result: Record<string, unknown>, report: unknown, reserved: readonly string[]): string[] {
  if (!isPlainObject(report)) return [];
  const refused: string[] = [];
  for (const [field, value] of Object.entries(cleanJson(report) as Record<string, unknown>)) {
    if (reserved.includes(field)) refused.push(field);
    else defineKey(result, field, value);
  }
  return refused;
}
