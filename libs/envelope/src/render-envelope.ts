/**
 * An envelope for people: one function, for a terminal or as Markdown.
 *
 * Invariants: an identifier is never cut; text from outside is inert; what was not checked is never left out.
 */
import { type ChangesNote, describeChanges } from './changes-note.ts';
import { cleanText } from './clean-text.ts';
import type { CoverageEntry } from './coverage.ts';
import type { DryRunNote, RunbookEnvelope } from './envelope.ts';
import { isPlainObject } from './plain-object.ts';
import { cellText, renderVerdictTable, type VerdictRow } from './verdict-rows.ts';

/** Options of {@link renderEnvelope}. */
export interface RenderOptions {
  readonly format: 'terminal' | 'markdown';
  /** Terminal only: ANSI colours by standing. */
  readonly color?: boolean;
}

const COLORS: Readonly<Record<string, string>> = { problem: '\u001b[31m', declined: '\u001b[33m', ok: '\u001b[32m' };
const DIM = '\u001b[2m';
const BOLD = '\u001b[1m';
const RESET = '\u001b[0m';

/** Renders an envelope: the sentence, the rows, the coverage ledger as three lists, the walk. */
export function renderEnvelope(envelope: RunbookEnvelope, options: RenderOptions): string {
  const { af_coverage: ledger, result } = envelope;
  const paint = options.format === 'terminal' && options.color === true;
  const heading = (text: string) =>
    options.format === 'markdown' ? `## ${text}` : paint ? `${BOLD}${text}${RESET}` : text;
  const sections = [
    countsLine(result),
    changesLines(result),
    line(ledger.sentence),
    rowsSection(result, options, paint),
  ];
  sections.push(listSection(heading('Checked'), ledger.checked, options));
  sections.push(listSection(heading('Not checked'), ledger.not_checked, options));
  sections.push(listSection(heading('Cannot be covered'), ledger.cannot_cover, options));
  const { walk } = result;
  const held = `${walk.shown} of ${walk.total} walk rows, ${walk.steps_executed} steps`;
  sections.push(
    `${heading('Walk')}\n${walk.ref === undefined ? `${held}. ${line(walk.note)}` : `${held}: ${walk.ref}`}`,
  );
  return sections.filter((section) => section !== '').join('\n\n');
}

/** The counts at a glance, with their denominator; nothing for an answer without them. */
function countsLine({ subjects, dry_run: dryRun, rerun }: RunbookEnvelope['result']): string {
  if (dryRun !== undefined) return dryRunLines(dryRun);
  if (subjects === undefined) return '';
  const { total, problem, declined, ok, not_checked, cannot_cover } = subjects;
  const open = cannot_cover > 0 ? `, ${cannot_cover} cannot be covered` : '';
  const again = rerun === undefined ? '' : `, again, of run ${line(rerun.of)}`;
  return `${problem} problem, ${declined} declined, ${ok} ok, ${not_checked} not checked${open}: of ${total} subjects${again}`;
}

/** What changed since the sweep before; nothing for an answer that tells no changes. */
function changesLines({ changes, subjects }: RunbookEnvelope['result']): string {
  // Without subjects of the envelope's own, a field of this name is the chart's.
  if (subjects === undefined || !isChangesNote(changes)) return '';
  const said = describeChanges(changes);
  const since = said === undefined ? [] : [`since ${line(changes.against?.now ?? '')}: ${said}`];
  return [...since, ...(changes.note === undefined ? [] : [line(changes.note)])].join('\n');
}

function isChangesNote(changes: ChangesNote | undefined): changes is ChangesNote {
  return isPlainObject(changes) && typeof changes.scope === 'string' && typeof changes.outcome === 'string';
}

function dryRunLines({ subjects, targets }: DryRunNote): string {
  if (targets === undefined) return `dry run: ${subjects} subjects counted, none assessed`;
  const { distinct, without, top } = targets;
  const width = Math.max(0, ...top.map((entry) => String(entry.subjects).length));
  const shown = top.map((entry) => `  ${String(entry.subjects).padStart(width)}  ${line(entry.target)}`);
  if (distinct > top.length) shown.push(`  and ${distinct - top.length} further targets`);
  if (without > 0) shown.push(`  ${without} subjects without a target`);
  return [`dry run: ${subjects} subjects on ${distinct} targets counted, none assessed`, ...shown].join('\n');
}

function rowsSection(result: RunbookEnvelope['result'], options: RenderOptions, paint: boolean): string {
  const rows = result.verdicts;
  if (rows === undefined) return '';
  const table = options.format === 'markdown' ? (result.table ?? renderVerdictTable(rows)) : terminalRows(rows, paint);
  if (result.rows_complete) return table;
  return `${table}\n\n${result.rows_shown} of ${result.rows_total} rows are shown.`;
}

function terminalRows(rows: readonly VerdictRow[], paint: boolean): string {
  if (rows.length === 0) return renderVerdictTable(rows);
  const cells = rows.map((row) => [
    typeof row.standing === 'string' ? cellText(row.standing) : '',
    cellText(row.verdict),
    cellText(row.subject),
    cellText(row.reason ?? firstColumns(row)),
  ]);
  const widths = [0, 1, 2].map((column) => Math.max(...cells.map((row) => (row[column] as string).length)));
  return cells
    .map((row) => {
      const [standing, verdict, subject, reason] = row as [string, string, string, string];
      const color = paint ? COLORS[standing] : undefined;
      const word = verdict.padEnd(widths[1] as number);
      const head = widths[0] === 0 ? word : `${standing.padEnd(widths[0] as number)}  ${word}`;
      const painted = color === undefined ? head : `${color}${head}${RESET}`;
      const why = paint ? `${DIM}${reason}${RESET}` : reason;
      return `${painted}  ${subject.padEnd(widths[2] as number)}  ${why}`.trimEnd();
    })
    .join('\n');
}

function firstColumns(row: VerdictRow): string {
  return Object.entries(row)
    .filter(([column]) => !['subject', 'verdict', 'standing'].includes(column))
    .map(([column, value]) => `${cellText(column)} ${cellText(value)}`)
    .join(', ');
}

function listSection(heading: string, entries: readonly CoverageEntry[] | undefined, options: RenderOptions): string {
  if (entries === undefined) return '';
  const bullet = options.format === 'markdown' ? '- ' : '  ';
  return [heading, ...entries.map(({ what, why }) => `${bullet}${line(what)}${why ? ` (${line(why)})` : ''}`)].join(
    '\n',
  );
}

function line(text: string): string {
  return cleanText(text).replace(/\s+/g, ' ').trim();
}
