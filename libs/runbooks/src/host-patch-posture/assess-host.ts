/** The assess chart: signals, decision, reason. State is flat and small; the subject itself never goes into it. */
import type { AssessArgs } from '@muster/envelope';
import { decide, type FlowChart, flowChart } from 'footprintjs';
import { unreadReason } from '../inputs/unread-input.ts';
import { explainVerdict } from './explain-verdict.ts';
import { readThresholds } from './patch-input.ts';
import { NONE, readSignals } from './patch-signals.ts';
import type { PatchSubject } from './patch-subject.ts';
import { buildRules, DEFAULT_RULES, OTHERWISE, type Rule } from './rules.ts';
import { DEFAULT_THRESHOLDS, type Thresholds } from './thresholds.ts';
import { meaningOf, VERDICTS, type Verdict } from './verdicts.ts';

/** The decider whose branches are the verdicts. */
export const DECIDER = 'Patch posture';

interface AssessState extends Record<string, unknown> {
  input_problem: string;
  reason?: string;
  index_age_seconds?: number;
}

type Args = AssessArgs<PatchSubject>;
type Scope = AssessState & { $getArgs<T>(): T };

/** Builds the chart. */
export function assessHost(): FlowChart {
  const rulesFor = rulesOfRuns();
  const signals = flowChart<AssessState>('Read signals', readHost, 'signals', {
    description: 'Computes what the rules compare',
  });
  let deciding = signals.addDeciderFunction(
    DECIDER,
    (scope) => decide(scope, [...rulesFor(readThresholds(scope.$getArgs<Args>().input))], OTHERWISE),
    'posture',
    'Decides how the host stands',
  );
  for (const verdict of VERDICTS) {
    deciding = deciding.addFunctionBranch(verdict, verdict, (scope) => explain(verdict, scope), meaningOf(verdict));
  }
  return deciding.setDefault(OTHERWISE.branch).end().build() as FlowChart;
}

function readHost(scope: Scope): void {
  const { subject, input, now } = scope.$getArgs<Args>();
  if (subject.kind !== 'host') {
    scope.input_problem = subject.kind === 'unread' ? subject.problem : 'missing';
    return;
  }
  scope.input_problem = NONE;
  Object.assign(scope, readSignals(subject, Date.parse(now), input.require_index_age === true));
}

function explain(verdict: Verdict, scope: Scope): void {
  const { subject, input, now } = scope.$getArgs<Args>();
  if (subject.kind !== 'host') {
    if (subject.kind === 'unread') scope.reason = unreadReason(subject);
    return;
  }
  const signals = readSignals(subject, Date.parse(now), input.require_index_age === true);
  const reason = explainVerdict(verdict, subject, signals);
  if (reason !== undefined) scope.reason = reason;
}

/** The rules for a run's thresholds: built once a run, not once a subject. */
function rulesOfRuns(): (thresholds: Thresholds) => readonly Rule[] {
  let known: { readonly key: string; readonly rules: readonly Rule[] } | undefined;
  return (thresholds) => {
    if (thresholds === DEFAULT_THRESHOLDS) return DEFAULT_RULES;
    const key = JSON.stringify(thresholds);
    if (known?.key !== key) known = { key, rules: buildRules(thresholds) };
    return known.rules;
  };
}
