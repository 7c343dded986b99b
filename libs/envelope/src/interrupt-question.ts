/** What a run asks a person, from what a chart or a fleet said: cleaned, bounded, and never blank. */
import { cleanJson, cleanLine } from './clean-text.ts';
import { isPlainObject } from './plain-object.ts';

/** A question. `details` are for whoever answers; they are shown and stored as they are. */
export interface InterruptQuestion {
  /** One line, at most 512 bytes. */
  readonly question: string;
  /** JSON of at most 8 KiB. */
  readonly details?: Readonly<Record<string, unknown>>;
}

const QUESTION_BYTES = 512;
const DETAILS_BYTES = 8 * 1024;
const NO_WORDS = 'The run asks for an answer.';

/**
 * Reads what a stage paused with: a text; or an object whose `question`, or `reason`, is the question, and whose other
 * members are its details.
 */
export function readQuestion(data: unknown): InterruptQuestion {
  if (typeof data === 'string') return { question: lineOf(data) };
  if (!isPlainObject(data)) return { question: NO_WORDS };
  const { question, reason, details, ...rest } = data;
  const spoken = typeof question === 'string' ? question : typeof reason === 'string' ? reason : '';
  const told = isPlainObject(details) ? { ...rest, ...details } : details === undefined ? rest : { ...rest, details };
  return { question: lineOf(spoken), ...boundedDetails(told) };
}

function lineOf(text: string): string {
  let line = cleanLine(text.trim(), QUESTION_BYTES);
  const bytes = (value: string) => new TextEncoder().encode(value).byteLength;
  while (bytes(line) > QUESTION_BYTES) line = cleanLine(line, Math.floor(line.length * 0.9));
  return line === '' ? NO_WORDS : line;
}

function boundedDetails(told: Record<string, unknown>): { details?: Readonly<Record<string, unknown>> } {
  const clean = cleanJson(told) as Record<string, unknown>;
  if (Object.keys(clean).length === 0) return {};
  const bytes = new TextEncoder().encode(JSON.stringify(clean)).byteLength;
  if (bytes <= DETAILS_BYTES) return { details: clean };
  return { details: { omitted: `the details are ${bytes} bytes, over the limit of ${DETAILS_BYTES}` } };
}
