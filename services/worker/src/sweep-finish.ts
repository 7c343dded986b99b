/** What collect gives the results store to find what changed since the sweep before, and how the answer then says it. */
import { createHash } from 'node:crypto';
import type { Answer, ChangesNote, CoverageEntry, Ledger } from '@muster/envelope';
import type { ChangeCounts, JudgedBy, PlanGaps, RunRecord, Sweep, SweepFinish } from '@muster/results';
import type { StoredPlan } from './stored-summaries.ts';

/** Longer texts of gaps are told apart by their digest: there may be two hundred of them beside a scope. */
const GAP_DIGEST_LENGTH = 24;

const GONE_UNTOLD = {
  stopped: 'the run was stopped: what it did not look at stands as before, and nothing is told gone',
  plan_not_whole: 'the plan left something out, so what it did not find is not told gone',
};

/** Of an answer that may tell changes; undefined of one that does not. */
export function sweepFinish(run: RunRecord, answer: Answer, judgedBy: JudgedBy): SweepFinish | undefined {
  if (answer.kind !== 'envelope' || answer.withChanges === undefined) return undefined;
  const { withChanges } = answer;
  return {
    judgedBy,
    gaps: planGaps(run.planSummary as StoredPlan | null),
    compose: (sweep) => withChanges(changesNote(sweep)),
  };
}

/** Stands for the content of rules, as it is kept with a definition. */
export function rulesDigest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** What the plan says that it left out: by its own chart and by the tools that it called. */
function planGaps(stored: StoredPlan | null): PlanGaps {
  const { innerLedger, ownLedger } = stored?.plan.summary ?? {};
  const ledgers: Ledger[] = [innerLedger, ownLedger].filter((ledger) => ledger !== undefined);
  return {
    left: ledgers.some(({ notChecked }) => notChecked.length > 0),
    never: [...new Set(ledgers.flatMap(({ cannotCover }) => cannotCover.map(gapDigest)))],
  };
}

function gapDigest({ what, why }: CoverageEntry): string {
  return rulesDigest(JSON.stringify([what, why ?? null])).slice(0, GAP_DIGEST_LENGTH);
}

function changesNote(sweep: Sweep): ChangesNote {
  const { against, outcome, scopeKey: scope } = sweep;
  const note = noteOf(sweep);
  const head = { scope, outcome };
  const told = note === undefined ? {} : { note };
  if (outcome === 'late' || outcome === 'unlooked') return { ...head, ...told };
  const before = against === null ? {} : { against: { run_id: against.runId, now: against.now.toISOString() } };
  return { ...head, ...before, counts: countsNote(sweep.counts), ...told };
}

function noteOf({ against, goneUntold, outcome }: Sweep): string | undefined {
  if (outcome === 'late') {
    return `run ${against?.runId}, which was accepted later, is recorded already; this one changes nothing in its scope`;
  }
  if (outcome === 'unlooked')
    return 'the run was stopped before it looked at any subject; it changes nothing in its scope';
  const first = outcome === 'first' ? 'the first sweep of its scope: there is nothing to compare it with' : undefined;
  const said = [first, goneUntold === null || first !== undefined ? undefined : GONE_UNTOLD[goneUntold]];
  return said.find((sentence) => sentence !== undefined);
}

function countsNote(counts: ChangeCounts): NonNullable<ChangesNote['counts']> {
  const { newly_problem, fixed, still_problem, new_subject, gone, became_unknown, known_again, rule_changed } = counts;
  const { still_ok, still_unknown, baseline } = counts;
  return {
    newly_problem,
    fixed,
    still_problem,
    new_subject,
    gone,
    became_unknown,
    known_again,
    rule_changed,
    still_ok,
    still_unknown,
    baseline,
  };
}
