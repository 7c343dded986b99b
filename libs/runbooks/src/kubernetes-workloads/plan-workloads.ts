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
import { ExpectedSubjects } from '../inputs/evidence-gap.ts';
import {
  InputChangedError,
  type InputFile,
  type NamedInput,
  nameInputs,
  openInput,
  unreadableInput,
} from '../inputs/open-input.ts';
import { SubjectPages } from '../inputs/subject-pages.ts';
import { deliversPods, ledgerOf, NEVER_COVERED, type SurveyedInput, unreadSubjects } from './input-ledger.ts';
import type { WorkloadSubject } from './pod-facts.ts';
import { podIdentity } from './pod-owner.ts';
import { readPods } from './read-pods.ts';
import { surveyInput } from './survey-input.ts';
import type { WorkloadInput } from './workload-input.ts';
import { subjectKey } from './workload-key.ts';

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
      const pages = new SubjectPages(subjects);
      const expected = new ExpectedSubjects(input.expected);
      for (const file of nameInputs(input)) {
        const keepDamaged = input.damaged === 'keep';
        const entries = await planFile(file, { tools, pages, expected, signal, keepDamaged });
        ledger.checked.push(...entries.checked);
        ledger.not_checked.push(...entries.not_checked);
        ledger.cannot_cover.push(...entries.cannot_cover);
      }
      for (const missing of expected.missing()) await pages.add(missing);
      await pages.flush();
      scope.coverage = ledger;
    },
    'read-pods',
    { description: 'Opens each input and finds the pods in it' },
  ).build() as FlowChart;
}

interface PlanContext {
  readonly tools: ToolDispatch;
  readonly pages: SubjectPages<WorkloadSubject>;
  readonly expected: ExpectedSubjects;
  readonly signal: AbortSignal | undefined;
  readonly keepDamaged: boolean;
}

async function planFile(file: NamedInput, context: PlanContext) {
  const { tools, pages, signal, keepDamaged } = context;
  const at = { name: file.name, ...(file.target !== undefined && { target: file.target }) };
  let opened: InputFile;
  let surveyed: SurveyedInput;
  try {
    opened = await openInput(tools, file.ref);
    surveyed = { ...at, survey: await surveyInput(readPods(opened.open(), { signal })), keepDamaged };
  } catch (error) {
    signal?.throwIfAborted();
    const lost = unreadableInput(at, error);
    await pages.add(lost);
    return { checked: [], not_checked: [{ what: file.name, why: lost.detail }], cannot_cover: [] };
  }
  if (deliversPods(surveyed) && surveyed.survey.pods > 0) {
    await deliverPods(opened, surveyed, file.takenAt ?? null, context);
  }
  for (const unread of unreadSubjects(surveyed)) await pages.add(unread);
  return ledgerOf(surveyed);
}

async function deliverPods(
  file: InputFile,
  surveyed: SurveyedInput,
  observedAt: number | null,
  { pages, expected, signal }: PlanContext,
): Promise<void> {
  const { survey, target } = surveyed;
  let ordinal = 0;
  for await (const item of readPods(file.open(), { signal })) {
    if (item.kind !== 'pod') continue;
    if (survey.superseded.has(ordinal++)) continue;
    const pod = { ...item.pod, observed_at: observedAt, ...(target !== undefined && { target }) };
    expected.met(subjectKey(pod), podIdentity(pod));
    await pages.add(pod);
  }
  // Rows of two different states of one file would be no answer about either.
  if (ordinal !== survey.pods) throw new InputChangedError(surveyed.name);
}
