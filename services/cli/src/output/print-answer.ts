/** What a command prints of a run: rows, JSON, or a page for a person. */
import type { RunbookEnvelope } from '@muster/envelope';
import { paintsOn, print } from './print.ts';

/** A verdict row as `--rows` prints it. */
export interface PrintedRow {
  readonly subject: string;
  readonly verdict: string;
  readonly standing: string;
  readonly reason: string;
  readonly columns: Readonly<Record<string, unknown>>;
}

/** A finished run with its answer. `absence` is the answer verbatim when nothing was found. */
export interface PrintedRun {
  readonly run: Readonly<Record<string, unknown>>;
  readonly envelope?: RunbookEnvelope;
  readonly absence?: unknown;
  readonly failure?: { readonly code: string; readonly message: string };
}

/** One row as one line of JSON: the four fixed columns first, then the runbook's own. */
export function rowLine(row: PrintedRow): string {
  const { columns, subject, verdict, standing, reason } = row;
  const fixed = { subject, verdict, standing, reason };
  // First in order, and nothing of the runbook's own stands in for them.
  return JSON.stringify({ ...fixed, ...columns, ...fixed });
}

/** `{ run, envelope }`, and nothing else on standard output. */
export async function printJson(printed: PrintedRun): Promise<void> {
  const { run, envelope, absence, failure } = printed;
  await print(
    JSON.stringify({
      run,
      envelope: envelope ?? absence ?? null,
      ...(failure !== undefined && { failure }),
    }),
  );
}

/** The page for a person. */
export async function printPage(printed: PrintedRun): Promise<void> {
  const { envelope, absence } = printed;
  if (envelope === undefined && absence === undefined) return;
  // Loaded only here: it brings the charts with it, and most commands do without.
  const { cleanText, renderEnvelope } = await import('@muster/envelope');
  if (envelope !== undefined) {
    await print(renderEnvelope(envelope, { format: 'terminal', color: paintsOn(process.stdout) }));
  } else {
    const said = absence as { looked_for?: unknown; note?: unknown };
    await print(
      `Nothing was found: ${cleanText(String(said.looked_for ?? ''))}\n${cleanText(String(said.note ?? ''))}`,
    );
  }
}

/**
 * `--rows` prints verdict rows; what got no verdict is no row. It is named on the side, so that a short list is not taken
 * for a whole one.
 */
export function sayWithoutVerdict(counts: { readonly notChecked: number; readonly cannotCover: number }): void {
  const { notChecked, cannotCover } = counts;
  if (notChecked + cannotCover === 0) return;
  process.stderr.write(
    `muster: ${notChecked + cannotCover} subject(s) have no verdict and no row: ${notChecked} not checked, ${cannotCover} that cannot be covered; --json says why\n`,
  );
}
