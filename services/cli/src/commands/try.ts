/**
 * `muster try`: a runbook over files in this one process, without any service: for people who write runbooks, and for
 * checks. The same library code as a worker's, so the rows are the same.
 */
import { randomUUID } from 'node:crypto';
import { bindArtifacts } from '@muster/artifacts/bind';
import { inMemoryArtifacts } from '@muster/artifacts/memory';
import { newArtifactRef } from '@muster/artifacts/ref';
import {
  type Answer,
  type AssessedSubject,
  askBeforeAssess,
  cleanLine,
  dispatchTools,
  errorIdentity,
  type FleetRunbook,
  type Runbook,
  RunFailure,
  runFleet,
  runProcedure,
  standingOf,
  type Tool,
  ToolRefusedError,
} from '@muster/envelope';
import { type LoadedCatalog, loadCatalog } from '@muster/host/catalog';
import { type Config, nearest } from '@muster/host/config';
import { resolveCredential } from '@muster/host/credentials';
import { inputFileTool } from '@muster/host/input-file';
import { CommandError, EXIT, UsageError } from '../exit-codes.ts';
import { checkFiles, readInputFields } from '../input-fields.ts';
import { type LocalFile, openInputFiles } from '../input-files.ts';
import { inputSchemaOf } from '../input-schema.ts';
import { print } from '../output/print.ts';
import { type PrintedRow, printJson, printPage, rowLine, sayWithoutVerdict } from '../output/print-answer.ts';
import { progress } from '../output/progress-line.ts';
import { megabytes, spoolStreams } from '../spool-streams.ts';
import type { RunOptions } from './run.ts';

/** Tries a runbook and prints its answer. */
export async function tryCommand(
  config: Config,
  name: string,
  paths: readonly string[],
  options: RunOptions,
): Promise<number> {
  const loaded = await loadCatalog(config);
  const { runbook, digest } = findRunbook(loaded, name);
  const files = await openInputFiles(paths);
  const schema = inputSchemaOf(runbook);
  checkFiles(name, schema, files.length);
  const fields = readInputFields(options.input, schema);
  const byRef = new Map((await spoolStreams(files)).map((file) => [newArtifactRef(), withProgress(file)]));
  const input = readInput(runbook, {
    ...fields,
    ...(byRef.size > 0 && { files: [...byRef].map(([ref, file]) => ({ ref, name: file.name })) }),
  });
  const runId = randomUUID();
  const now = options.now ?? new Date().toISOString();
  const tools = [...loaded.catalog.tools.values(), inputFileTool(async (ref) => byRef.get(ref))];
  const startedAt = new Date().toISOString();
  const outcome = await carryOut(runbook, input, now, callOf(runId, tools)).finally(() => progress.clear());
  const { answer, rows } = outcome;
  const failure = answer.kind === 'failure' ? failureOf(answer.error) : undefined;
  const printed = {
    run: {
      run_id: runId,
      definition_name: runbook.name,
      definition_version: runbook.version,
      definition_digest: digest,
      run_status: failure === undefined ? 'completed' : 'failed',
      now,
      created_at: startedAt,
      updated_at: new Date().toISOString(),
    },
    ...(answer.kind === 'envelope' && { envelope: answer.body }),
    ...(answer.kind === 'absence' && { absence: answer.body }),
    ...(failure !== undefined && { failure }),
  };
  if (options.rows) {
    for (const row of rows) await print(rowLine(row));
    sayWithoutVerdict(outcome);
  } else if (options.json) await printJson(printed);
  else await printPage(printed);
  if (failure !== undefined) throw new CommandError(`the run failed: ${failure.message} [${failure.code}]`);
  return options.failOn === 'problem' && rows.some((row) => row.standing === 'problem') ? EXIT.verdict : EXIT.ok;
}

function findRunbook({ byName }: LoadedCatalog, name: string) {
  const found = byName.get(name);
  if (found !== undefined) return found;
  const names = [...byName.keys()];
  throw new UsageError(
    `there is no runbook ${JSON.stringify(name)}; did you mean ${nearest(name, names)}? There are ${names.join(', ')}`,
  );
}

function readInput(runbook: Runbook, given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const parsed = runbook.input.safeParse(given);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'input'}: ${issue.message}`);
  throw new UsageError(`the input does not fit ${runbook.name}: ${faults.join('; ')}`);
}

/** A file that shows how far it has been read. */
function withProgress(file: LocalFile): LocalFile {
  const whole = file.bytes === undefined ? '' : ` of ${megabytes(file.bytes)}`;
  return {
    ...file,
    async *open() {
      let bytes = 0;
      for await (const chunk of file.open()) {
        bytes += chunk.byteLength;
        progress.update(`reading ${file.name}: ${megabytes(bytes)}${whole}`);
        yield chunk;
      }
    },
  };
}

type Call = Parameters<typeof runFleet>[2];

function callOf(runId: string, tools: readonly Tool[]): Call {
  const origin = { toolCallId: runId, runId };
  return {
    ...origin,
    tools: dispatchTools([...tools], { ...origin, resolveCredential }),
    artifacts: bindArtifacts(inMemoryArtifacts(), { tenant: 'try', conversationId: runId }, { origin }),
  };
}

interface Outcome {
  readonly answer: Answer;
  readonly rows: readonly PrintedRow[];
  /** Subjects that got no verdict. */
  readonly notChecked: number;
  readonly cannotCover: number;
}

async function carryOut(runbook: Runbook, input: Record<string, unknown>, now: string, call: Call): Promise<Outcome> {
  if (runbook.form === 'procedure') {
    const timeoutMs = runbook.limits.chartTimeoutMs;
    const outcome = await runProcedure(runbook, { now, ...input }, { ...call, timeoutMs });
    if (outcome.kind === 'interrupted') throw askedNobody(outcome.question.question);
    const { answer, rows } = outcome;
    return { answer, rows: rows.map((row, index) => procedureRow(runbook, row, index)), notChecked: 0, cannotCover: 0 };
  }
  const { answer, subjects } = await runFleet(runbook, { input, now }, call, (done, total) => {
    if (done % 50 === 0) progress.update('assess', done, total);
  });
  const failure = sayWhatIsAsked(runbook, subjects, input);
  if (failure !== undefined)
    return { answer: { kind: 'failure', error: failure }, rows: [], notChecked: 0, cannotCover: 0 };
  const ended = (outcome: string) => subjects.filter((subject) => subject.outcome === outcome).length;
  return {
    answer,
    rows: subjects.flatMap(fleetRow),
    notChecked: ended('not_checked'),
    cannotCover: ended('cannot_cover'),
  };
}

function procedureRow(
  runbook: Runbook,
  row: Readonly<Record<string, unknown>> & { readonly verdict: string },
  index: number,
): PrintedRow {
  const { subject, verdict, reason, standing: _given, ...columns } = row;
  return {
    subject: typeof subject === 'string' ? subject : `row ${index + 1}`,
    verdict,
    standing: standingOf(runbook.verdicts, verdict) ?? 'declined',
    reason: typeof reason === 'string' ? reason : verdict,
    columns,
  };
}

function fleetRow({ key, verdict, standing, reason, columns }: AssessedSubject): PrintedRow[] {
  if (verdict === undefined || standing === undefined) return [];
  return [{ subject: key, verdict, standing, reason, columns }];
}

/** A trial asks nobody: it says what a run would have asked. A question that cannot be asked would have failed that run. */
function sayWhatIsAsked(
  runbook: FleetRunbook,
  subjects: readonly AssessedSubject[],
  input: Record<string, unknown>,
): RunFailure | undefined {
  if (subjects.length === 0) return undefined;
  const targets = new Set(subjects.flatMap(({ target }) => target ?? [])).size;
  const counts = { subjects: subjects.length, ...(runbook.fleet.target !== undefined && { targets }) };
  try {
    const asked = askBeforeAssess(runbook, counts, input);
    if (asked !== undefined) say(`a run would wait for an approval here, a trial does not: ${asked.question}`);
    return undefined;
  } catch (error) {
    if (error instanceof RunFailure) return error;
    throw error;
  }
}

function say(line: string): void {
  progress.clear();
  process.stderr.write(`muster: ${line}\n`);
}

/** A trial has nobody who could answer later. */
function askedNobody(question: string): CommandError {
  return new CommandError(`the runbook asks '${question}', and a trial waits for nobody: run it with \`muster run\``);
}

const MAX_MESSAGE_LENGTH = 500;

function failureOf(error: unknown): { code: string; message: string } {
  if (error instanceof RunFailure || error instanceof CommandError) {
    return { code: 'code' in error ? error.code : 'input_unreadable', message: error.message };
  }
  if (error instanceof ToolRefusedError)
    return { code: error.code, message: cleanLine(error.message, MAX_MESSAGE_LENGTH) };
  return { code: 'chart_failed', message: `a chart failed: ${errorIdentity(error)}` };
}
