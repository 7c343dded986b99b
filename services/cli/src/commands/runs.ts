import type { ApiClient, RunView } from '../api-client.ts';
import { EXIT } from '../exit-codes.ts';
import { print } from '../output/print.ts';

export interface RunsOptions {
  readonly limit: number;
  readonly status?: string;
  readonly runbook?: string;
  readonly json?: boolean;
}

/** `muster runs`: the latest runs, newest first. */
export async function runsCommand(api: ApiClient, options: RunsOptions): Promise<number> {
  const { limit, status, runbook, json } = options;
  const runs = await api.listRuns(limit, { ...(status && { status }), ...(runbook && { runbook }) });
  if (runs.length === 0 && !json) process.stderr.write('there are no such runs\n');
  for (const run of runs) await print(json ? JSON.stringify(run) : runLine(run));
  return EXIT.ok;
}

function runLine(run: RunView): string {
  const what = `${run.definition_name} ${run.definition_version}`;
  const again = run.rerun_of === undefined ? [] : [`again ${run.rerun_of}`];
  const state = run.finished_at === undefined ? `${run.run_status} (${run.phase})` : run.run_status;
  return [run.run_id, run.created_at, state.padEnd(19), what, duration(run), ...again, run.status_summary ?? '']
    .join('  ')
    .trimEnd();
}

function duration({ started_at: from, finished_at: until }: RunView): string {
  if (from === undefined || until === undefined) return '';
  return `${((Date.parse(until) - Date.parse(from)) / 1000).toFixed(1)} s`;
}
