/** Arguments: JSON text, decoded strictly against a closed schema. What is wrong is told by place and expectation. */
import { cleanLine } from '@muster/envelope';
import { z } from 'zod';
import { nearestOf } from './nearest.ts';
import { JsonFault, parseStrictJson } from './strict-json.ts';
import { WorkflowToolError } from './tool.ts';

const NIL_UUID = /^[0-]+$/;
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;
/** Of the text: an input of 256 KiB whose every character is escaped still goes through. */
const MAX_TEXT_LENGTH = 2 * 1024 * 1024;
const SHOWN_LENGTH = 64;
const SHOWN_NAMES = 10;

/** A nonzero UUID. */
export const runId = z.guid().refine((text) => !NIL_UUID.test(text), 'a nonzero UUID');

/** A page size. */
export function pageLimit(fallback: number) {
  return z.number().int().min(1).max(100).default(fallback);
}

/** One line of text. Stores take neither NUL nor half characters, and logs no control characters. */
export function line(maxLength: number) {
  return z.string().min(1).max(maxLength).refine(isLine, ONE_LINE);
}

/** What {@link isLine} asks for, in words. */
export const ONE_LINE = 'one line of text without control characters';

export function isLine(text: string): boolean {
  return text.isWellFormed() && !CONTROL.test(text);
}

/** Decodes arguments. @throws WorkflowToolError `invalid_json`, `invalid_arguments` */
export function decodeArguments<Schema extends z.ZodObject>(
  schema: Schema,
  json: string | Uint8Array,
): z.infer<Schema> {
  const value = readArguments(json);
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data as z.infer<Schema>;
  // A field that is spelled wrongly is missing under its right name, too: what is there teaches more than what is not.
  const { issues } = parsed.error;
  const unknown = issues.find((issue) => issue.code === 'unrecognized_keys');
  throw unknown === undefined ? faultError(issues[0]!, value) : unknownFields(unknown, schema);
}

function readArguments(json: string | Uint8Array): unknown {
  try {
    if (json.length > MAX_TEXT_LENGTH) throw new JsonFault(`the argument text is longer than ${MAX_TEXT_LENGTH}`);
    return parseStrictJson(json, 'the argument text');
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    const expected = 'one JSON object';
    throw new WorkflowToolError({ code: error.code, message: error.message, place: 'arguments', expected });
  }
}

type UnknownKeys = Extract<z.core.$ZodIssue, { code: 'unrecognized_keys' }>;

/** Each by its name; the place is the first one's. */
function unknownFields({ keys, path }: UnknownKeys, schema: z.ZodObject): WorkflowToolError {
  const names = keys.slice(0, SHOWN_NAMES).map((key) => cleanLine(key, SHOWN_LENGTH));
  const more = keys.length > names.length ? ` and ${keys.length - names.length} more` : '';
  const known = Object.keys(schema.shape);
  const place = placeOf([...path, names[0] ?? '']);
  return new WorkflowToolError({
    code: 'invalid_arguments',
    message: `${placeOf(path)}: there is no field ${names.map((name) => `'${name}'`).join(', ')}${more}`,
    place,
    expected: known.length === 0 ? 'no fields' : `only ${known.join(', ')}`,
    nearest: nearestOf(names[0] ?? '', known),
  });
}

function faultError(issue: z.core.$ZodIssue, given: unknown): WorkflowToolError {
  const place = placeOf(issue.path);
  const found = valueAt(given, issue.path);
  const missing = issue.path.length > 0 && found === undefined ? ' (it is required)' : '';
  const expected = `${cleanLine(expectationOf(issue), 160)}${missing}`;
  const nearest =
    issue.code === 'invalid_value' && typeof found === 'string'
      ? nearestOf(found, issue.values.map(String))
      : undefined;
  const message = `${place}: expected ${expected}`;
  return new WorkflowToolError({ code: 'invalid_arguments', message, place, expected, nearest });
}

function placeOf(path: readonly PropertyKey[]): string {
  return ['arguments', ...path.map((key) => cleanLine(String(key), SHOWN_LENGTH))].join('/');
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown> | null | undefined)?.[key], value);
}

const TYPES: Readonly<Record<string, string>> = {
  object: 'one JSON object',
  record: 'one JSON object',
  array: 'a list',
  int: 'a whole number',
  string: 'text',
  boolean: 'true or false',
  number: 'a number',
};

function expectationOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return TYPES[issue.expected] ?? `a value of type ${issue.expected}`;
    case 'invalid_value':
      return `one of ${issue.values.map(String).join(', ')}`;
    case 'too_big':
      return `at most ${issue.maximum}${unitOf(issue.origin)}`;
    case 'too_small':
      return `at least ${issue.minimum}${unitOf(issue.origin)}`;
    case 'invalid_format':
      return issue.format === 'guid' || issue.format === 'uuid'
        ? 'a nonzero UUID'
        : `text in the format ${issue.pattern ?? issue.format}`;
    case 'custom':
      return issue.message;
    default:
      return 'what the schema says';
  }
}

function unitOf(origin: string): string {
  if (origin === 'string') return ' characters';
  return origin === 'array' ? ' entries' : '';
}
