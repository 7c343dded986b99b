/**
 * What a command prints of a run: rows, JSON, or a page for a person. Standard output holds only that.
 */
import { once } from 'node:events';
import { cleanText, type RunbookEnvelope, renderEnvelope } from '@muster/envelope';

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
  const { subject, verdict, standing, reason, columns } = row;
  return JSON.stringify({ subject, verdict, standing, reason, ...columns });
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
  if (envelope !== undefined) {
    await print(renderEnvelope(envelope, { format: 'terminal', color: paintsOn(process.stdout) }));
  } else if (absence !== undefined) {
    const said = absence as { looked_for?: unknown; note?: unknown };
    await print(
      `Nothing was found: ${cleanText(String(said.looked_for ?? ''))}\n${cleanText(String(said.note ?? ''))}`,
    );
  }
}

/** Writes a line to standard output and waits where the reader is slow; a reader that went away ends the process. */
export async function print(text: string): Promise<void> {
  if (!process.stdout.write(`${text}\n`)) await once(process.stdout, 'drain');
}

/** Whether a stream is a terminal that wants colours. */
export function paintsOn(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== 'dumb';
}
