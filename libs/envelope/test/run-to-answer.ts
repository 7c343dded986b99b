import type { ProcedureOutcome } from '../src/index.ts';
import { runProcedure } from '../src/index.ts';

/** Runs a procedure that asks nobody anything. */
export async function runToAnswer(...given: Parameters<typeof runProcedure>): Promise<ProcedureOutcome> {
  const outcome = await runProcedure(...given);
  if (outcome.kind === 'interrupted') throw new Error(`expected an answer, and it asks: ${outcome.question.question}`);
  return outcome;
}
