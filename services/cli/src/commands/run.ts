import { randomUUID } from 'node:crypto';
import type { ApiClient } from '../api-client.ts';
import { UsageError } from '../exit-codes.ts';
import { readInputFields, takesFiles } from '../input-fields.ts';
import { type LocalFile, openInputFiles } from '../input-files.ts';
import { ProgressLine } from '../output/progress-line.ts';
import { type PrintOptions, printRun, waitForRun } from './answer-run.ts';

export interface RunOptions extends PrintOptions {
  readonly input: readonly string[];
  readonly now?: string;
  readonly detach?: boolean;
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
  if (files.length > 0 && !takesFiles(definition.input_schema)) {
    throw new UsageError(`${runbook} takes no files; give its input with --input FIELD=VALUE`);
  }
  const started = await startRun(api, {
    runbook,
    fields,
    files: files.map((file) => ({ file })),
    now: options.now,
    priority: 'interactive',
  });
  if (options.detach) {
    process.stdout.write(`${started.run_id}\n`);
    return 0;
  }
  return await printRun(api, await waitForRun(api, started.run_id), options);
}

/** A run to start, with the files that become its input. */
export interface RunStart {
  readonly runbook: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly files: readonly { readonly file: LocalFile; readonly target?: string }[];
  readonly now?: string;
  readonly priority: 'interactive' | 'normal' | 'sweep';
}

/** Uploads a run's files and starts it. */
export async function startRun(api: ApiClient, start: RunStart) {
  const line = new ProgressLine();
  const uploaded: { ref: string; name: string; target?: string }[] = [];
  try {
    for (const { file, target } of start.files) {
      line.update(`uploading ${file.name}`, uploaded.length, start.files.length);
      const { ref } = await api.upload(file);
      uploaded.push({ ref, name: file.name, ...(target !== undefined && { target }) });
    }
  } finally {
    line.clear();
  }
  const input = { ...start.fields, ...(uploaded.length > 0 && { files: uploaded }) };
  const { runbook, priority, now } = start;
  return await api.startRun({ runbook, input, priority, ...(now !== undefined && { now }) }, randomUUID());
}
