/**
 * `--input k=v` pairs become a runbook's input: each value is read as its field's schema wants it.
 */
import { nearest } from '@muster/host/config';
import { UsageError } from './exit-codes.ts';

/** JSON Schema, as far as this needs it. */
interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Schema[];
}

/**
 * Reads the pairs by the input's JSON Schema.
 *
 * @throws UsageError naming the field, what was expected, and the nearest field for a typo
 */
export function readInputFields(pairs: readonly string[] | undefined, schema: unknown): Record<string, unknown> {
  const { properties = {} } = schema as Schema;
  const input: Record<string, unknown> = {};
  for (const pair of pairs ?? []) {
    const at = pair.indexOf('=');
    if (at < 1) throw new UsageError(`--input takes FIELD=VALUE, got ${JSON.stringify(pair)}`);
    const field = pair.slice(0, at);
    const fieldSchema = Object.hasOwn(properties, field) ? properties[field] : undefined;
    if (fieldSchema === undefined) {
      const known = Object.keys(properties).filter((name) => name !== 'files');
      const hint =
        known.length === 0 ? 'it takes none' : `did you mean ${nearest(field, known)}? It takes ${known.join(', ')}`;
      throw new UsageError(`--input ${field}: this runbook has no such input; ${hint}`);
    }
    if (field === 'files') throw new UsageError('--input files: files are named without an option, after the runbook');
    if (Object.hasOwn(input, field)) throw new UsageError(`--input ${field} is given twice`);
    input[field] = readValue(field, pair.slice(at + 1), fieldSchema);
  }
  return input;
}

function readValue(field: string, text: string, schema: Schema): unknown {
  const types = typesOf(schema);
  if (types.includes('string')) return text;
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError(
      `--input ${field} must be ${types.join(' or ') || 'JSON'}, got ${JSON.stringify(text.slice(0, 80))}`,
    );
  }
}

function typesOf(schema: Schema): string[] {
  if (schema.anyOf !== undefined) return schema.anyOf.flatMap(typesOf);
  if (typeof schema.type === 'string') return [schema.type];
  return [...(schema.type ?? [])];
}

/** Checks that files are given where a runbook needs them, and only where it takes them. @throws UsageError */
export function checkFiles(runbook: string, schema: unknown, count: number): void {
  const { properties = {}, required = [] } = schema as Schema;
  if (count > 0 && !Object.hasOwn(properties, 'files')) {
    throw new UsageError(`${runbook} takes no files; give its input with --input FIELD=VALUE`);
  }
  if (count === 0 && required.includes('files')) {
    throw new UsageError(`${runbook} needs files: name at least one after the runbook; - is standard input`);
  }
}

/** Checks `--now`: RFC 3339 with a zone; people may leave the seconds out. Gives it in UTC. @throws UsageError */
export function readInstant(option: string, text: string): string {
  const pattern = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)$/;
  const date = new Date(text);
  if (!pattern.test(text) || Number.isNaN(date.getTime()) || !isCalendarDay(text.slice(0, 10))) {
    throw new UsageError(
      `${option} takes an RFC 3339 time with a zone, like 2026-01-31T12:00:00Z, got ${JSON.stringify(text)}`,
    );
  }
  return date.toISOString();
}

/** JavaScript takes 30 February for 2 March; a person who typed it meant something else. */
function isCalendarDay(day: string): boolean {
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
}
