/**
 * `muster try`: a runbook over files in this one process, without any service: for people who write runbooks, and for
 * checks. The same library code as a worker's, so the rows are the same.
 */
import { randomUUID } from 'node:crypto';
import { bindArtifacts, inMemoryArtifacts, newArtifactRef } from '@muster/artifacts';
import {
  type Answer,
  type AssessedSubject,
  dispatchTools,
  errorIdentity,
  type Runbook,
  RunFailure,
  runFleet,
  runProcedure,
  standingOf,
} from '@muster/envelope';
import { type Config, inputFileTool, loadCatalog, nearest } from '@muster/host';
import { z } from 'zod';
import { CommandError, EXIT, UsageError } from '../exit-codes.ts';
import { readInputFields, takesFiles } from '../input-fields.ts';
import { openInputFiles } from '../input-files.ts';
import { type PrintedRow, print, printJson, printPage, rowLine } from '../output/print-answer.ts';
import { ProgressLine } from '../output/progress-line.ts';
import type { RunOptions } from './run.ts';

/** Tries a runbook and prints its answer. */
export async function tryCommand(
  config: Config,
  name: string,
  paths: readonly string[],
  options: RunOptions,
): Promise<number> {
  const { catalog, byName } = await loadCatalog(config);
  const runbook = byName.get(name)?.runbook;
  if (runbook === undefined) {
    const names = [...byName.keys()];
    throw new UsageError(
      `there is no runbook ${JSON.stringify(name)}; did you mean ${nearest(name, names)}? There are ${names.join(', ')}`,
    );
  }
  const files = new Map((await openInputFiles(paths)).map((file) => [newArtifactRef(), file]));
  const schema = z.toJSONSchema(runbook.input, { io: 'input' });
  if (files.size > 0 && !takesFiles(schema))
    throw new UsageError(`${name} takes no files; give its input with --input FIELD=VALUE`);
  const given = {
    ...readInputFields(options.input, schema),
    ...(files.size > 0 && { files: [...files].map(([ref, file]) => ({ ref, name: file.name })) }),
  };
  const parsed = runbook.input.safeParse(given);
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'input'}: ${issue.message}`);
    throw new UsageError(`the input does not fit ${name}: ${faults.join('; ')}`);
  }
  const runId = randomUUID();
  const now = options.now ?? new Date().toISOString();
  const tools = dispatchTools([...catalog.tools.values(), inputFileTool(async (ref) => files.get(ref))], {
    toolCallId: runId,
    runId,
  });
  const artifacts = bindArtifacts(
    inMemoryArtifacts(),
    { tenant: 'try', conversationId: runId },
    { origin: { runId, toolCallId: runId } },
  );
  const startedAt = new Date().toISOString();
  const { answer, rows } = await carryOut(runbook, parsed.data, now, { toolCallId: runId, runId, tools, artifacts });
  if (options.rows) for (const row of rows) await print(rowLine(row));
  const failure = answer.kind === 'failure' ? failureOf(answer.error) : undefined;
  const printed = {
    run: {
      run_id: runId,
      definition_name: runbook.name,
      definition_version: runbook.version,
      definition_digest: byName.get(name)?.digest,
      run_status: failure === undefined ? 'completed' : 'failed',
      now,
      created_at: startedAt,
      updated_at: new Date().toISOString(),
    },
    ...(answer.kind === 'envelope' && { envelope: answer.body }),
    ...(answer.kind === 'absence' && { absence: answer.body }),
    ...(failure !== undefined && { failure }),
  };
  if (options.json) await printJson(printed);
  else if (!options.rows) await printPage(printed);
  if (failure !== undefined) throw new CommandError(`the run failed: ${failure.message} [${failure.code}]`);
  return options.failOn === 'problem' && rows.some((row) => row.standing === 'problem') ? EXIT.verdict : EXIT.ok;
}

type Call = Parameters<typeof runFleet>[2];

async function carryOut(
  runbook: Runbook,
  input: Record<string, unknown>,
  now: string,
  call: Call,
): Promise<{ answer: Answer; rows: PrintedRow[] }> {
  if (runbook.form === 'procedure') {
    const { answer, rows } = await runProcedure(
      runbook,
      { now, ...input },
      { ...call, timeoutMs: runbook.limits.chartTimeoutMs },
    );
    return {
      answer,
      rows: rows.map(({ subject, verdict, reason, standing: _given, ...columns }, index) => ({
        subject: typeof subject === 'string' ? subject : `row ${index + 1}`,
        verdict,
        standing: standingOf(runbook.verdicts, verdict) ?? 'declined',
        reason: typeof reason === 'string' ? reason : verdict,
        columns,
      })),
    };
  }
  const line = new ProgressLine();
  const { answer, subjects } = await runFleet(runbook, { input, now }, call, (done, total) => {
    if (done % 50 === 0) line.update('assess', done, total);
  });
  line.clear();
  return { answer, rows: subjects.flatMap(printedRow) };
}

function printedRow({ key, verdict, standing, reason, columns }: AssessedSubject): PrintedRow[] {
  if (verdict === undefined || standing === undefined) return [];
  return [{ subject: key, verdict, standing, reason, columns }];
}

function failureOf(error: unknown): { code: string; message: string } {
  if (error instanceof RunFailure || error instanceof CommandError) {
    return { code: 'code' in error ? error.code : 'input_unreadable', message: error.message };
  }
  return { code: 'chart_failed', message: `a chart failed: ${errorIdentity(error)}` };
}
