/** Arguments: JSON text, decoded strictly against a closed schema. What is wrong is told by place and expectation. */
import { cleanLine } from '@muster/envelope';
import { z } from 'zod';
import { nearestOf } from './nearest.ts';
import { JsonFault, parseStrictJson } from './strict-json.ts';
import { WorkflowToolError } from './tool.ts';

const NIL_UUID = /^[0-]+$/;

/** A nonzero UUID. */
export const runId = z.guid().refine((text) => !NIL_UUID.test(text), 'a nonzero UUID');

/** A page size. */
export function pageLimit(fallback: number) {
  return z.number().int().min(1).max(100).default(fallback);
}

/** Decodes arguments. @throws WorkflowToolError `invalid_json`, `invalid_arguments` */
export function decodeArguments<Schema extends z.ZodObject>(
  schema: Schema,
  json: string | Uint8Array,
): z.infer<Schema> {
  let value: unknown;
  try {
    value = parseStrictJson(json, 'the argument text');
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    const expected = 'one JSON object';
    throw new WorkflowToolError({ code: error.code, message: error.message, place: 'arguments', expected });
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data as z.infer<Schema>;
  throw argumentError(parsed.error.issues[0]!, schema, value);
}

function argumentError(issue: z.core.$ZodIssue, schema: z.ZodObject, given: unknown): WorkflowToolError {
  const code = 'invalid_arguments';
  if (issue.code === 'unrecognized_keys') {
    const unknown = cleanLine(issue.keys[0] ?? '', 64);
    const nearest = issue.path.length === 0 ? nearestOf(unknown, Object.keys(schema.shape)) : undefined;
    const place = placeOf([...issue.path, unknown]);
    const known = Object.keys(schema.shape);
    const expected = known.length === 0 ? 'no fields' : `only ${known.join(', ')}`;
    return new WorkflowToolError({ code, message: `${place}: there is no such field`, place, expected, nearest });
  }
  const place = placeOf(issue.path);
  const expected = cleanLine(expectationOf(issue), 160);
  const word = issue.code === 'invalid_value' ? valueAt(given, issue.path) : undefined;
  const nearest =
    issue.code === 'invalid_value' && typeof word === 'string' ? nearestOf(word, issue.values.map(String)) : undefined;
  return new WorkflowToolError({ code, message: `${place}: expected ${expected}`, place, expected, nearest });
}

function placeOf(path: readonly PropertyKey[]): string {
  return ['arguments', ...path.map((key) => cleanLine(String(key), 64))].join('/');
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key], value);
}

function expectationOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? `a value of type ${issue.expected} (it is required)`
        : `a value of type ${issue.expected}`;
    case 'invalid_value':
      return `one of ${issue.values.map(String).join(', ')}`;
    case 'too_big':
      return `at most ${issue.maximum}${issue.origin === 'string' ? ' characters' : ''}`;
    case 'too_small':
      return `at least ${issue.minimum}${issue.origin === 'string' ? ' characters' : ''}`;
    case 'invalid_format':
      return issue.format === 'guid' || issue.format === 'uuid'
        ? 'a nonzero UUID'
        : `text in the format ${issue.format}`;
    case 'custom':
      return issue.message;
    default:
      return 'what the schema says';
  }
}
