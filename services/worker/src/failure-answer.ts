import { cleanLine, errorIdentity, RunFailure, ToolRefusedError } from '@muster/envelope';

/** The answer of a run that failed: a stable code, and a message only when it is ours. */
export interface FailureBody {
  readonly code: string;
  readonly message: string;
  readonly phase: string;
}

const MAX_MESSAGE_LENGTH = 500;

/** Makes the failure answer of an error. Foreign error text can carry payloads: its name and code stand for it. */
export function failureBody(error: unknown, phase: string): FailureBody {
  if (error instanceof RunFailure) return { code: error.code, message: error.message, phase };
  // It says which tool and what it lacks, and the target's name comes from outside.
  if (error instanceof ToolRefusedError)
    return { code: error.code, message: cleanLine(error.message, MAX_MESSAGE_LENGTH), phase };
  return { code: 'chart_failed', message: `the ${phase} chart failed: ${errorIdentity(error)}`, phase };
}
