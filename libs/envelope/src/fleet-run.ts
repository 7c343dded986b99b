/**
 * A fleet run in one process, without queue or database: for people who write runbooks, and to hold the distributed way
 * to (DESIGN 9: the same envelope but for refs and times, at any chunk size and worker count).
 */
import type { Answer } from './answer.ts';
import type { FleetRunbook } from './define-runbook.ts';
import { type AssessedSubject, createAssessor } from './fleet-assess.ts';
import { collectFleet, maxRowsOf, type OpenGroup, type OpenGroups, STANDING_ORDER } from './fleet-collect.ts';
import { type PlannedSubject, planFleet } from './fleet-plan.ts';
import { mergeTotals, NO_TOTALS, totalSubjects } from './fleet-totals.ts';
import type { RunCall } from './procedure-run.ts';
import type { Timers } from './run-chart.ts';
import type { RunArgs, SubjectCounts } from './runbook.ts';
import { countWalk, DEFAULT_WALK_CAP } from './walk.ts';

/** How many keys a group of open subjects names. */
export const GROUP_SAMPLES = 5;
/** How many groups of open subjects an answer lists. */
export const MAX_GROUPS = 200;

/** How many subjects are assessed before their totals are folded and others get their turn. */
const TURN_SUBJECTS = 256;

/** What `runFleet` gives: the answer, and every subject in the order of the plan. */
export interface FleetOutcome {
  readonly answer: Answer;
  /** Every subject, by ordinal. Walks are kept as far as the run's own walk needs them. */
  readonly subjects: readonly AssessedSubject[];
}

/** Runs a fleet runbook over its subjects. `onProgress` is told how many of how many subjects are done. */
export async function runFleet(
  runbook: FleetRunbook,
  args: RunArgs,
  call: RunCall,
  onProgress: (done: number, total: number) => void = () => {},
): Promise<FleetOutcome> {
  const planned: PlannedSubject[] = [];
  const outcome = await planFleet(runbook, args, call, async (page) => void planned.push(...page));
  if (outcome.kind !== 'planned') return { answer: outcome, subjects: [] };
  const assessor = createAssessor(runbook, args, call);
  const subjects: AssessedSubject[] = [];
  const cap = runbook.walk?.cap ?? DEFAULT_WALK_CAP;
  let totals = NO_TOTALS;
  let controlRows = 0;
  let unfolded: AssessedSubject[] = [];
  const fold = () => {
    totals = mergeTotals(totals, totalSubjects(unfolded));
    unfolded = [];
  };
  for (const subject of planned) {
    const assessed = await assessor.assess(subject, call.signal);
    if (assessed === 'aborted') {
      return { answer: { kind: 'failure', error: call.signal?.reason }, subjects };
    }
    unfolded.push(assessed);
    // What the run's own walk will hold is the first of these; a fleet's walks are never all held.
    const { summary: _folded, ...kept } = assessed;
    subjects.push(controlRows < cap ? kept : { ...kept, walk: [] });
    controlRows += countWalk(assessed.walk).controlRows;
    onProgress(subjects.length, planned.length);
    if (subjects.length % TURN_SUBJECTS !== 0) continue;
    fold();
    await yieldTurn(call.timers);
  }
  fold();
  const { walk, ...plan } = outcome.plan;
  const answer = await collectFleet(runbook, args, call, {
    plan,
    counts: countSubjects(subjects),
    totals,
    head: headOf(subjects, maxRowsOf(runbook)),
    open: groupOpen(subjects),
    walk: async function* () {
      yield walk;
      for (const subject of subjects) yield subject.walk;
    },
  });
  return { answer, subjects };
}

/** Counts how subjects ended. */
export function countSubjects(subjects: readonly Pick<AssessedSubject, 'outcome' | 'standing'>[]): SubjectCounts {
  const counts = { total: subjects.length, ok: 0, problem: 0, declined: 0, not_checked: 0, cannot_cover: 0 };
  for (const { outcome, standing } of subjects) {
    if (outcome === 'not_checked' || outcome === 'cannot_cover') counts[outcome]++;
    else if (standing !== undefined) counts[standing]++;
  }
  return counts;
}

/** Charts that never wait would keep timers and signals from running for as long as the fleet lasts (FACTS). */
function yieldTurn(timers: Timers = globalThis as unknown as Timers): Promise<void> {
  return new Promise((resolve) => void timers.setTimeout(resolve, 0));
}

function headOf(subjects: readonly AssessedSubject[], limit: number): AssessedSubject[] {
  return STANDING_ORDER.flatMap((standing) => subjects.filter((subject) => subject.standing === standing)).slice(
    0,
    limit,
  );
}

/** Groups come in the order of their first subjects, at most {@link MAX_GROUPS}; the rest is counted. */
function groupOpen(subjects: readonly AssessedSubject[]): OpenGroups {
  const groups = new Map<string, OpenGroup & { count: number; samples: string[] }>();
  for (const { outcome, reasonCode, reason, key } of subjects) {
    if (outcome !== 'not_checked' && outcome !== 'cannot_cover') continue;
    const id = JSON.stringify([outcome, reasonCode, reason]);
    const group = groups.get(id) ?? { outcome, reason, count: 0, samples: [] };
    group.count++;
    if (group.samples.length < GROUP_SAMPLES) group.samples.push(key);
    groups.set(id, group);
  }
  const all = [...groups.values()];
  const rest = all.slice(MAX_GROUPS);
  return {
    groups: all.slice(0, MAX_GROUPS),
    restGroups: rest.length,
    restSubjects: rest.reduce((sum, group) => sum + group.count, 0),
  };
}
