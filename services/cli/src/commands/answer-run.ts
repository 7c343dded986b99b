import { setTimeout as wait } from 'node:timers/promises';
import type { ApiClient, NewsWait, RunView } from '../api-client.ts';
import { ApiAwayError, CommandError, EXIT } from '../exit-codes.ts';
import { oneLine, print } from '../output/print.ts';
import { type PrintedRun, printJson, printPage, rowLine, sayWithoutVerdict } from '../output/print-answer.ts';
import { progress } from '../output/progress-line.ts';

/** How a finished run is to be printed. */
export interface PrintOptions {
  readonly json?: boolean;
  readonly rows?: boolean;
  readonly failOn?: 'problem';
}

const FINAL = new Set(['completed', 'cancelled', 'failed']);
/** One request waits no longer than this. */
const WAIT_MS = 20_000;
/** Between two requests that brought nothing new before their time. */
const PAUSE_MS = 500;
/** An API that is started anew is away for some seconds, and the run goes on meanwhile. */
const PATIENCE_MS = 60_000;

/**
 * Waits until a run is final or asks something, showing how far it is.
 *
 * @throws CommandError when the API stays away for a minute, or does not know the run; AbortError by the signal
 */
export async function waitForRun(api: ApiClient, runId: string, signal?: AbortSignal): Promise<RunView> {
  let awaySince: number | undefined;
  let seen: RunView | undefined;
  try {
    for (;;) {
      try {
        const asked = performance.now();
        const run = await (seen === undefined ? api.getRun(runId) : api.awaitNews(runId, newsOf(seen, signal)));
        if (FINAL.has(run.run_status) || run.run_status === 'interrupted') return run;
        awaySince = undefined;
        progress.update(`${run.phase} (${run.run_status})`, run.subjects?.settled, run.subjects?.total);
        const isNew = seen === undefined || run.checkpoint_revision > seen.checkpoint_revision;
        seen = run;
        // An API that is ending answers at once; it must not be asked again and again.
        if (isNew || performance.now() - asked >= PAUSE_MS) continue;
      } catch (error) {
        awaySince ??= performance.now();
        if (!(error instanceof ApiAwayError) || performance.now() - awaySince > PATIENCE_MS) throw error;
        progress.update('the API does not answer; waiting for it');
      }
      await wait(PAUSE_MS, undefined, { signal });
    }
  } finally {
    progress.clear();
  }
}

function newsOf(seen: RunView, signal: AbortSignal | undefined): NewsWait {
  return { waitMs: WAIT_MS, afterRevision: seen.checkpoint_revision, signal };
}

/** `muster get`: the answer of a run that is over. */
export async function getCommand(api: ApiClient, runId: string, options: PrintOptions): Promise<number> {
  const run = await api.getRun(runId);
  if (FINAL.has(run.run_status) || run.run_status === 'interrupted') return await printRun(api, run, options);
  throw new CommandError(
    `the run is ${run.run_status} (${run.phase}); \`npm run muster -- watch ${runId}\` waits for it`,
  );
}

/** `muster watch`: waits for a run and prints its answer. */
export async function watchCommand(api: ApiClient, runId: string, options: PrintOptions): Promise<number> {
  return await printRun(api, await waitForRun(api, runId), options);
}

/** Prints a finished run, or what an interrupted one asks, and gives the exit code. */
export async function printRun(api: ApiClient, run: RunView, options: PrintOptions): Promise<number> {
  if (run.run_status === 'interrupted') return await printQuestion(run, options);
  const answer = await api.getAnswer(run.run_id);
  const printed: PrintedRun = {
    run,
    ...(answer.kind === 'envelope' && { envelope: answer.body }),
    ...(answer.kind === 'absence' && { absence: answer.body }),
    ...(answer.kind === 'failure' && { failure: answer.body }),
  };
  if (options.rows) await printRows(api, run);
  else if (options.json) await printJson(printed);
  else await printPage(printed);
  if (answer.kind === 'failure') throw new CommandError(`the run failed: ${answer.body.message} [${answer.body.code}]`);
  return options.failOn !== undefined && (await api.hasRow(run.run_id, options.failOn)) ? EXIT.verdict : EXIT.ok;
}

/** The answer of a run that asks is still to come: on standard output only where a program wants to read it. */
async function printQuestion(run: RunView, options: PrintOptions): Promise<number> {
  const { question = '', needed_role: role = 'approver', expires_at: until = '' } = run.interruption ?? {};
  if (options.json) await printJson({ run });
  process.stderr.write(
    `muster: the run asks: ${oneLine(question)}\n` +
      `muster: \`npm run muster -- resume ${run.run_id} --approve\` (or --refuse, or --answer JSON) answers, with a key of the role ${role}, until ${until}\n`,
  );
  return EXIT.asks;
}

async function printRows(api: ApiClient, run: RunView): Promise<void> {
  for await (const { verdict, standing, subject, reason = '', columns = {} } of api.rows(run.run_id)) {
    if (verdict === undefined || standing === undefined) continue;
    await print(rowLine({ subject, verdict, standing, reason, columns }));
  }
  sayWithoutVerdict({
    notChecked: run.subjects?.not_checked ?? 0,
    cannotCover: run.subjects?.cannot_cover ?? 0,
  });
}
