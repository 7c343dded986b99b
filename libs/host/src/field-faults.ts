/**
 * What a schema found wrong, as places and expectations. What was there is never repeated: it may be a secret. Names of
 * unknown fields are, because otherwise nobody could find them.
 */
import { cleanLine } from '@muster/envelope';
import type { z } from 'zod';

const MAX_FAULTS = 20;
const SHOWN_LENGTH = 160;

type Issue = z.core.$ZodIssue;

/** One place of a document that does not fit. `path` is `body/…`, `query/…`, `path/…`, `header/…` or `input/…`. */
export interface FieldFault {
  readonly path: string;
  readonly expected: string;
}

/** @param root where the paths begin: `body`, `query`, `path`, `header`, `input` */
export function fieldFaults(root: string, issues: readonly Issue[]): FieldFault[] {
  return issues.flatMap((issue) => faultsOf(root, issue)).slice(0, MAX_FAULTS);
}

/** One sentence over a list of faults, for the detail. */
export function faultSentence(faults: readonly FieldFault[]): string {
  const [first] = faults;
  if (first === undefined) return 'the value does not fit its schema';
  const rest = faults.length > 1 ? `; and ${faults.length - 1} more` : '';
  return `${first.path}: expected ${first.expected}${rest}`;
}

function faultsOf(root: string, issue: Issue): FieldFault[] {
  const place = (...more: PropertyKey[]) =>
    [root, ...[...issue.path, ...more].map((key) => cleanLine(String(key), SHOWN_LENGTH))].join('/');
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: place(key), expected: 'no such field' }));
  }
  const meant = issue.code === 'invalid_union' ? meantForm(issue.errors) : undefined;
  if (meant !== undefined) {
    return meant.flatMap((inner) => faultsOf(root, { ...inner, path: [...issue.path, ...inner.path] } as Issue));
  }
  return [{ path: place(), expected: cleanLine(expectationOf(issue), SHOWN_LENGTH) }];
}

/** What is wrong by the one form of a union that fits best; undefined where several fit equally well. */
function meantForm(forms: readonly (readonly Issue[])[]): readonly Issue[] | undefined {
  const [best, second] = forms.toSorted((a, b) => weightOf(a) - weightOf(b));
  return best !== undefined && second !== undefined && weightOf(best) < weightOf(second) ? best : undefined;
}

function weightOf(issues: readonly Issue[]): number {
  return issues.reduce((sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 1), 0);
}

function expectationOf(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `a value of type ${issue.expected}`;
    case 'invalid_value':
      return `one of ${issue.values.map(String).join(', ')}`;
    case 'too_big':
      return `${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}${unitOf(issue.origin)}`;
    case 'too_small':
      return `${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}${unitOf(issue.origin)}`;
    case 'not_multiple_of':
      return `a multiple of ${issue.divisor}`;
    case 'invalid_format':
      return `text in the format ${issue.format}${issue.pattern === undefined ? '' : ` (${issue.pattern})`}`;
    case 'invalid_union':
      return 'one of the forms that the schema lists';
    case 'invalid_key':
    case 'invalid_element':
      return 'keys and values that the schema allows';
    case 'custom':
      // A check's own sentence: ours, or the runbook's.
      return issue.message;
    default:
      return 'what the schema says';
  }
}

function unitOf(origin: string): string {
  if (origin === 'string') return ' characters';
  if (origin === 'array' || origin === 'set') return ' items';
  return '';
}
