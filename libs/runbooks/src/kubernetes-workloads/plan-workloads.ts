/**
 * The plan chart: opens each input, surveys it, streams its pods into the sink, and writes the ledger.
 *
 * Invariants:
 * - one bad input never hides the others: whatever is wrong with it becomes a declined row under its name;
 * - an input that is damaged as a whole gives that row alone, unless the run asked to keep what came before the damage;
 * - an input is read twice, so that damage at its end is known before its first pod is handed on, and nothing is held.
 */
import type { CoverageEntry, RunArgs, SubjectSink, ToolDispatch } from '@muster/envelope';
import { type FlowChart, flowChart } from 'footprintjs';
import type { InputProblem } from './input-fault.ts';
import { deliversPods, ledgerOf, NEVER_COVERED, type SurveyedInput, unreadSubjects } from './input-ledger.ts';
import type { PodFacts, UnreadInput, WorkloadSubject } from './pod-facts.ts';
import { readPods } from './read-pods.ts';
import { surveyInput } from './survey-input.ts';
import type { WorkloadInput } from './workload-input.ts';

/** What the host's `input_file` tool gives for `{ ref }`. `open` may be called more than once. */
export interface InputFile {
  readonly name: string;
  readonly bytes?: number;
  open(): AsyncIterable<Uint8Array>;
}

/** The tool that opens inputs. */
export const INPUT_FILE_TOOL = 'input_file';

const PAGE_SIZE = 200;

interface NamedFile {
  readonly ref: string;
  readonly name: string;
  readonly target?: string;
}

interface PlanState extends Record<string, unknown> {
  coverage: { checked: CoverageEntry[]; not_checked: CoverageEntry[]; cannot_cover: CoverageEntry[] };
}

/** Builds the plan chart. */
export function planWorkloads(tools: ToolDispatch, subjects: SubjectSink<WorkloadSubject>): FlowChart {
  return flowChart<PlanState>(
    'Read pods',
    async (scope) => {
      const input = scope.$getArgs<RunArgs>().input as unknown as WorkloadInput;
      const signal = scope.$getEnv().signal;
      const ledger: PlanState['coverage'] = { checked: [], not_checked: [], cannot_cover: [...NEVER_COVERED] };
      for (const file of nameFiles(input)) {
        const entries = await planFile(file, { tools, subjects, signal, keepDamaged: input.damaged === 'keep' });
        ledger.checked.push(...entries.checked);
        ledger.not_checked.push(...entries.not_checked);
        ledger.cannot_cover.push(...entries.cannot_cover);
      }
      scope.coverage = ledger;
    },
    'read-pods',
    { description: 'Opens each input and finds the pods in it' },
  ).build() as FlowChart;
}

interface PlanContext {
  readonly tools: ToolDispatch;
  readonly subjects: SubjectSink<WorkloadSubject>;
  readonly signal: AbortSignal | undefined;
  readonly keepDamaged: boolean;
}

async function planFile(file: NamedFile, context: PlanContext) {
  const { tools, subjects, signal, keepDamaged } = context;
  const at = { name: file.name, ...(file.target !== undefined && { target: file.target }) };
  let opened: InputFile;
  let surveyed: SurveyedInput;
  try {
    opened = await openFile(tools, file.ref);
    surveyed = { ...at, survey: await surveyInput(readPods(opened.open(), { signal })), keepDamaged };
  } catch (error) {
    signal?.throwIfAborted();
    const lost = unreadable(at, error);
    await subjects.add([lost]);
    return { checked: [], not_checked: [{ what: file.name, why: lost.detail }], cannot_cover: [] };
  }
  if (deliversPods(surveyed) && surveyed.survey.pods > 0) await deliverPods(opened, surveyed, context);
  const unread = unreadSubjects(surveyed);
  if (unread.length > 0) await subjects.add(unread);
  return ledgerOf(surveyed);
}

async function deliverPods(file: InputFile, surveyed: SurveyedInput, { subjects, signal }: PlanContext): Promise<void> {
  const { survey, target } = surveyed;
  let page: PodFacts[] = [];
  let ordinal = 0;
  for await (const item of readPods(file.open(), { signal })) {
    if (item.kind !== 'pod') continue;
    if (survey.superseded.has(ordinal++)) continue;
    page.push(target === undefined ? item.pod : { ...item.pod, target });
    if (page.length < PAGE_SIZE) continue;
    await subjects.add(page);
    page = [];
  }
  if (page.length > 0) await subjects.add(page);
  // Rows of two different states of one file would be no answer about either.
  if (ordinal !== survey.pods) throw new InputChangedError(surveyed.name);
}

/** Thrown when an input changed between its two readings: the plan is to begin again. */
export class InputChangedError extends Error {
  override readonly name = 'InputChangedError';
  readonly code = 'input_changed';

  constructor(input: string) {
    super(`the input '${input}' changed while it was being read`);
  }
}

async function openFile(tools: ToolDispatch, ref: string): Promise<InputFile> {
  // An absence would end the run; here it is about one input, and the gap is stated in that input's row.
  const result = (await tools.call(INPUT_FILE_TOOL, { ref }, { allowAbsent: true })) as Partial<InputFile> | null;
  if (typeof result?.open !== 'function') throw new MissingInputError();
  return result as InputFile;
}

class MissingInputError extends Error {
  readonly code = 'not_found';
}

/** What hosts say when there is nothing behind a ref. */
const MISSING_CODES: readonly string[] = ['not_found', 'input_file_missing', 'ENOENT'];

/** What kept an input from being read. Its own words are left out: they may hold paths and addresses. */
function unreadable(at: { name: string; target?: string }, error: unknown): UnreadInput {
  const code = (error as { code?: unknown } | null)?.code;
  const missing = typeof code === 'string' && MISSING_CODES.includes(code);
  const problem: InputProblem = missing ? 'missing' : 'unreadable';
  const known = typeof code === 'string' && /^\w{1,40}$/.test(code) && !missing ? `: ${code}` : '';
  const detail = missing ? 'there is no such input' : `it could not be opened or read to its end${known}`;
  return { kind: 'unread', ...(at.target !== undefined && { target: at.target }), input: at.name, problem, detail };
}

/** Gives every input a name of its own within its target: rows are told apart by it. */
function nameFiles(input: WorkloadInput): NamedFile[] {
  const times = new Map<string, number>();
  return input.files.map((file) => {
    const target = file.target ?? input.target;
    const key = JSON.stringify([target, file.name]);
    const count = (times.get(key) ?? 0) + 1;
    times.set(key, count);
    const name = count === 1 ? file.name : `${file.name} (${count})`;
    return { ref: file.ref, name, ...(target !== undefined && { target }) };
  });
}
