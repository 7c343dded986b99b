import type { ApiClient, RunView } from '../api-client.ts';
import { CommandError, EXIT } from '../exit-codes.ts';
import { type PrintedRun, print, printJson, printPage, rowLine } from '../output/print-answer.ts';
import { ProgressLine } from '../output/progress-line.ts';

/** How a finished run is to be printed. */
export interface PrintOptions {
  readonly json?: boolean;
  readonly rows?: boolean;
  readonly failOn?: 'problem';
}

const FINAL = new Set(['completed', 'cancelled', 'failed']);
const POLL_MS = 250;

/** Waits until a run is final, showing how far it is. */
export async function waitForRun(api: ApiClient, runId: string): Promise<RunView> {
  const line = new ProgressLine();
  try {
    for (;;) {
      const run = await api.getRun(runId);
      if (FINAL.has(run.run_status)) return run;
      line.update(`${run.phase} (${run.run_status})`, run.subjects?.settled, run.subjects?.total);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  } finally {
    line.clear();
  }
}

/** Prints a finished run and gives the exit code. */
export async function printRun(api: ApiClient, run: RunView, options: PrintOptions): Promise<number> {
  const answer = await api.getAnswer(run.run_id);
  const printed: PrintedRun = {
    run,
    ...(answer.kind === 'envelope' && { envelope: answer.body }),
    ...(answer.kind === 'absence' && { absence: answer.body }),
    ...(answer.kind === 'failure' && { failure: answer.body }),
  };
  let problems = false;
  if (options.rows || options.failOn !== undefined) {
    for await (const row of api.rows(run.run_id)) {
      if (row.verdict === undefined || row.standing === undefined) continue;
      problems ||= row.standing === 'problem';
      const { subject, verdict, standing, reason = '', columns = {} } = row;
      if (options.rows) await print(rowLine({ subject, verdict, standing, reason, columns }));
    }
  }
  if (options.json) await printJson(printed);
  else if (!options.rows) await printPage(printed);
  if (answer.kind === 'failure') throw new CommandError(`the run failed: ${answer.body.message} [${answer.body.code}]`);
  return options.failOn === 'problem' && problems ? EXIT.verdict : EXIT.ok;
}
