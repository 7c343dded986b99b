/** What an input's survey says in the coverage ledger, and which declined rows it makes. */
import type { CoverageEntry } from '@muster/envelope';
import { distinctUnread, type UnreadInput } from '../inputs/unread-input.ts';
import type { InputSurvey } from './survey-input.ts';

/** Lists as a chart's state carries them. */
export interface InputLedger {
  readonly checked: CoverageEntry[];
  readonly not_checked: CoverageEntry[];
  readonly cannot_cover: CoverageEntry[];
}

/** What no listing of pods can tell, whatever is in it. */
export const NEVER_COVERED: readonly CoverageEntry[] = Object.freeze([
  {
    what: 'why an image cannot be pulled, a volume not mounted, or a probe fails',
    why: 'events and logs are not read',
  },
  { what: 'the state of nodes', why: 'a listing of pods names nodes and says nothing about them' },
  {
    what: 'what an owner lacks: replicas that were never made, jobs that were never started',
    why: 'only pods are listed',
  },
]);

/** Where one input is described: its name, its target, and what was found in it. */
export interface SurveyedInput {
  readonly name: string;
  readonly target?: string;
  readonly survey: InputSurvey;
  readonly keepDamaged: boolean;
}

/** Whether the input's pods are judged. */
export function deliversPods({ survey, keepDamaged }: SurveyedInput): boolean {
  return survey.fault === undefined || keepDamaged;
}

/** The declined rows of one input: one for the whole, or one for each item that cannot be read. */
export function unreadSubjects(input: SurveyedInput): UnreadInput[] {
  const { name, target, survey } = input;
  const at = { kind: 'unread' as const, ...(target !== undefined && { target }) };
  if (survey.fault !== undefined) {
    const { problem, detail } = survey.fault;
    const before = survey.pods > 0 ? `, after ${plural(survey.pods, 'pod')}` : '';
    return [{ ...at, input: name, problem, detail: `${detail}${before}` }];
  }
  const alone = survey.pods === 0 && survey.unread.length === 1;
  const unread = survey.unread.map(({ problem, detail, place }, index) => ({
    ...at,
    input: alone ? name : `${name} ${place ?? `part ${index + 1}`}`,
    problem,
    detail: alone || place === undefined ? detail : `${place}: ${detail}`,
  }));
  if (survey.pods > 0 || unread.length > 0 || survey.deleted > 0) return distinctUnread(unread);
  const refusal = survey.refusals[0];
  if (refusal !== undefined) {
    return [{ ...at, input: name, problem: 'refused', detail: `it is a refusal: ${refusal.reason}` }];
  }
  if (survey.others.size > 0) {
    return [{ ...at, input: name, problem: 'wrong_kind', detail: `it holds no pods but ${kindsText(survey.others)}` }];
  }
  if (survey.emptyLists > 0 || survey.page !== undefined) return [];
  return [{ ...at, input: name, problem: 'empty', detail: 'there is nothing in it' }];
}

/** The ledger's entries for one input. */
export function ledgerOf(input: SurveyedInput): InputLedger {
  const { name, target, survey } = input;
  const where = target === undefined ? name : `${name} (${target})`;
  const ledger: InputLedger = { checked: [], not_checked: [], cannot_cover: [] };
  const judged = deliversPods(input) ? survey.pods - survey.superseded.size : 0;
  if (judged > 0) ledger.checked.push({ what: `${where}: ${plural(judged, 'pod')}` });
  const open = (what: string, why: string) => ledger.not_checked.push({ what: `${where}: ${what}`, why });
  if (survey.fault !== undefined) {
    const before = survey.pods > 0 && judged === 0 ? ` (${plural(survey.pods, 'pod')} came before the damage)` : '';
    const what = judged > 0 ? 'whatever comes after the damage' : `the input${before}`;
    open(what, `${survey.fault.detail} (${survey.fault.problem})`);
  }
  if (survey.unread.length > 0 && survey.fault === undefined) {
    open(plural(survey.unread.length, 'item'), 'they cannot be read; each is a declined row');
  }
  if (survey.page !== undefined) {
    const { remaining } = survey.page;
    open(remaining === undefined ? 'further pods' : `${remaining} further pods`, 'it is one page of a longer list');
  }
  if (survey.others.size > 0) open(kindsText(survey.others), 'they are no pods');
  if (survey.superseded.size > 0 && deliversPods(input)) {
    open(plural(survey.superseded.size, 'older copy', 'older copies'), 'the newest copy of a pod is judged');
  }
  if (survey.deleted > 0) open(plural(survey.deleted, 'pod'), 'they were deleted while they were watched');
  if (survey.noise > 0) open(plural(survey.noise, 'line'), 'they stand outside of its documents');
  if (survey.openEnd && survey.fault === undefined) {
    open('whatever may be missing at its end', 'its last line is not ended');
  }
  if (judged === 0 && survey.emptyLists > 0 && survey.fault === undefined) open('pods', 'it lists none');
  for (const refusal of survey.refusals) {
    const what =
      refusal.namespace === undefined ? 'pods that were asked for' : `pods of namespace ${refusal.namespace}`;
    ledger.cannot_cover.push({ what: `${where}: ${what}`, why: `the answer was a refusal: ${refusal.reason}` });
  }
  return ledger;
}

/** A count with its noun. */
function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

function kindsText(kinds: ReadonlyMap<string, number>): string {
  const parts = [...kinds].slice(0, 5).map(([kind, count]) => `${count} ${kind}`);
  return kinds.size > 5 ? `${parts.join(', ')} and more` : parts.join(', ');
}
