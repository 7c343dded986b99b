/** Any refusal of the use cases, in the form in which tools refuse: agents read it and try again, so it says where and what. */
import { asProblem } from '../as-problem.ts';
import type { Problem } from '../problems.ts';
import type { ToolRefusal } from './tool-result.ts';

const RETRYABLE_STATUSES = new Set([408, 429, 503]);
/** Refusals that time alone may lift. */
const RETRYABLE_CODES = new Set<string>(['run_not_final', 'definition_not_offered', 'run_stopping']);

/** @returns never a payload, a secret or a foreign error's message (see {@link asProblem}) */
export function explainRefusal(error: unknown): ToolRefusal {
  if (isToolError(error)) return pickRefusal(error);
  const problem = asProblem(error);
  const [fault] = problem.extras.errors ?? [];
  const nearest = nearestOf(problem);
  return {
    code: problem.code,
    message: problem.message,
    ...(fault !== undefined && { place: fault.path, expected: fault.expected }),
    ...(nearest !== undefined && { nearest }),
    retryable: RETRYABLE_STATUSES.has(problem.status) || RETRYABLE_CODES.has(problem.code),
  };
}

/** The bundle's own refusals say it all already. */
export function isToolError(error: unknown): error is Error & ToolRefusal {
  return error instanceof Error && error.name === 'WorkflowToolError';
}

function pickRefusal({ code, message, place, expected, nearest, retryable }: ToolRefusal): ToolRefusal {
  return {
    code,
    message,
    ...(place !== undefined && { place }),
    ...(expected !== undefined && { expected }),
    ...(nearest !== undefined && { nearest }),
    retryable,
  };
}

function nearestOf({ extras }: Problem): string | undefined {
  const { nearest, available } = extras;
  if (Array.isArray(nearest) && typeof nearest[0] === 'string') return nearest[0];
  return typeof available === 'string' ? available : undefined;
}
