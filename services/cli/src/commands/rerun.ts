import { randomUUID } from 'node:crypto';
import type { ApiClient, StartedRerun } from '../api-client.ts';
import { progress } from '../output/progress-line.ts';
import type { PrintOptions } from './answer-run.ts';
import { awaitRun } from './run.ts';

export interface RerunOptions extends PrintOptions {
  /** One of `only` and `subject` is there. */
  readonly only?: readonly string[];
  readonly subject?: readonly string[];
  readonly now?: string;
  readonly dryRun?: boolean;
  readonly detach?: boolean;
}

/** `muster rerun`: does a part of a run again, waits for its answer and prints it. */
export async function rerunCommand(api: ApiClient, runId: string, options: RerunOptions): Promise<number> {
  const { only, subject, now, dryRun } = options;
  const body = {
    ...(only !== undefined && { only }),
    ...(subject !== undefined && { subjects: subject }),
    ...(now !== undefined && { now }),
    ...(dryRun && { dry_run: true }),
    priority: 'interactive',
  };
  const started = await api.rerun(runId, body, randomUUID());
  if (started.definition_changed) progress.say(`muster: ${changeOf(started)}`);
  return await awaitRun(api, started.run_id, options);
}

function changeOf({ definition_name: name, definition_version: now, source_definition_version: before }: StartedRerun) {
  const versions = now === before ? `in another build of ${now}` : `${now}, and was ${before}`;
  return `${name} is now ${versions}: what it judges now need not compare with the run before`;
}
