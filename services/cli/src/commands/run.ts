import { randomUUID } from 'node:crypto';
import type { ApiClient, RunView } from '../api-client.ts';
import { EXIT } from '../exit-codes.ts';
import { checkFiles, readInputFields } from '../input-fields.ts';
import { type LocalFile, openInputFiles } from '../input-files.ts';
import { print } from '../output/print.ts';
import { progress } from '../output/progress-line.ts';
import { megabytes } from '../spool-streams.ts';
import { type PrintOptions, printRun, waitForRun } from './answer-run.ts';

export interface RunOptions extends PrintOptions {
  readonly input?: readonly string[];
  readonly now?: string;
  readonly detach?: boolean;
  readonly dryRun?: boolean;
  /** In percent. */
  readonly canary?: number;
  readonly keepInput?: boolean;
  readonly scope?: string;
}

/** `muster run`: uploads the files, starts the run, waits for its answer and prints it. */
export async function runCommand(
  api: ApiClient,
  runbook: string,
  paths: readonly string[],
  options: RunOptions,
): Promise<number> {
  const files = await openInputFiles(paths);
  const definition = await api.findRunbook(runbook);
  const fields = readInputFields(options.input, definition.input_schema);
  checkFiles(runbook, definition.input_schema, files.length);
  const started = await startRun(api, {
    runbook,
    fields,
    files: files.map((file) => ({ file })),
    now: options.now,
    priority: 'interactive',
    keepInput: options.keepInput,
    controls: {
      ...(options.dryRun && { dry_run: true }),
      ...(options.canary !== undefined && { canary_percent: options.canary }),
      ...(options.scope !== undefined && { scope: options.scope }),
    },
  });
  return await awaitRun(api, started.run_id, options);
}

/** Waits for a run that was just started and prints its answer; detached, it prints the id. */
export async function awaitRun(
  api: ApiClient,
  runId: string,
  options: PrintOptions & { readonly detach?: boolean },
): Promise<number> {
  if (options.detach) {
    await print(runId);
    return EXIT.ok;
  }
  const stopTelling = tellOnInterrupt(runId);
  const done = await waitForRun(api, runId).finally(stopTelling);
  return await printRun(api, done, options);
}

/** A run to start, with the files that become its input. */
export interface RunStart {
  readonly runbook: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly files: readonly { readonly file: LocalFile; readonly target?: string }[];
  readonly now?: string;
  readonly priority: 'interactive' | 'normal' | 'sweep';
  /** Keep the files when the run is over. */
  readonly keepInput?: boolean;
  /** How it is to go, as the API takes it. */
  readonly controls?: Readonly<Record<string, unknown>>;
}

/** Uploads a run's files and starts it. */
export async function startRun(api: ApiClient, start: RunStart): Promise<RunView> {
  const uploaded: { ref: string; name: string; target?: string }[] = [];
  try {
    for (const { file, target } of start.files) {
      const whole = file.bytes === undefined ? '' : ` of ${megabytes(file.bytes)}`;
      const onBytes = (bytes: number) => progress.update(`uploading ${file.name}: ${megabytes(bytes)}${whole}`);
      const { ref } = await api.upload(file, onBytes, { keep: start.keepInput });
      uploaded.push({ ref, name: file.name, ...(target !== undefined && { target }) });
    }
  } finally {
    progress.clear();
  }
  const input = { ...start.fields, ...(uploaded.length > 0 && { files: uploaded }) };
  const { runbook, priority, now, controls } = start;
  return await api.startRun({ runbook, input, priority, ...(now !== undefined && { now }), ...controls }, randomUUID());
}

/** Who stops waiting does not stop the run; this says how to come back to it. */
function tellOnInterrupt(runId: string): () => void {
  const leave = () => {
    progress.close();
    process.stderr.write(`run ${runId} goes on; \`npm run muster -- watch ${runId}\` waits for it, cancel stops it\n`);
    process.exit(EXIT.interrupted);
  };
  process.once('SIGINT', leave);
  return () => void process.off('SIGINT', leave);
}
