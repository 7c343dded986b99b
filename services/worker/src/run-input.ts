import { type Runbook, RunFailure } from '@muster/envelope';
import { getRunInput, type RunRecord } from '@muster/results';
import type { WorkerContext } from './worker-context.ts';

/**
 * A run's input as its runbook reads it: the stored original with the schema's defaults in place.
 *
 * @throws RunFailure `input_invalid` when it does not fit; acceptance checked it, so the definition must have been loose
 */
export async function readInput(
  context: WorkerContext,
  run: RunRecord,
  runbook: Runbook,
): Promise<Readonly<Record<string, unknown>>> {
  const stored = await getRunInput(context.db, { tenant: run.tenant, runId: run.id });
  const parsed = await runbook.input.safeParseAsync(stored?.body);
  if (parsed.success) return parsed.data;
  const places = parsed.error.issues.map((issue) => issue.path.join('.') || 'input');
  throw new RunFailure('input_invalid', `the stored input does not fit ${runbook.name} at ${places.join(', ')}`);
}
