/**
 * The assess chart: signals, decision, reason. One chart serves one subject after another, each as its run input.
 *
 * Invariant: state is flat and small. The subject itself never goes into it: only the signals that rules compare.
 */
import type { AssessArgs } from '@muster/envelope';
import { decide, type FlowChart, flowChart } from 'footprintjs';
import { unreadReason } from '../inputs/unread-input.ts';
import { containerOf, explainVerdict } from './explain-verdict.ts';
import type { WorkloadSubject } from './pod-facts.ts';
import { type Life, NONE, type PodSignals, readSignals } from './pod-signals.ts';
import { buildRules, DEFAULT_RULES, OTHERWISE, type RuleSet } from './rules.ts';
import { DEFAULT_THRESHOLDS, type Thresholds } from './thresholds.ts';
import { meaningOf, VERDICTS, type Verdict } from './verdicts.ts';
import { readThresholds } from './workload-input.ts';

/** The decider whose branches are the verdicts. */
export const DECIDER = 'Workload state';

interface AssessState extends Record<string, unknown> {
  life: Life;
  input_problem: string;
  reason?: string;
  container?: string | null;
}

type Args = AssessArgs<WorkloadSubject>;

/** Builds the chart. */
export function assessWorkload(): FlowChart {
  const ruleSet = ruleSets();
  const signals = flowChart<AssessState>('Read signals', readSubject, 'signals', {
    description: 'Computes what the rules compare',
  });
  let deciding = signals.addDeciderFunction(
    DECIDER,
    (scope) => {
      const { byLife } = ruleSet(readThresholds(scope.$getArgs<Args>().input));
      return decide(scope, byLife[scope.life], OTHERWISE);
    },
    'state',
    'Decides which state the pod is in',
  );
  for (const verdict of VERDICTS) {
    deciding = deciding.addFunctionBranch(verdict, verdict, (scope) => explain(verdict, scope), meaningOf(verdict));
  }
  return deciding.setDefault(OTHERWISE.branch).end().build() as FlowChart;
}

type Scope = AssessState & { $getArgs<T>(): T };

function readSubject(scope: Scope): void {
  const { subject, input, now } = scope.$getArgs<Args>();
  if (subject.kind !== 'pod') {
    scope.life = 'unread';
    scope.input_problem = subject.kind === 'unread' ? subject.problem : 'missing';
    return;
  }
  Object.assign(scope, judgedSignals(readSignals(subject, Date.parse(now), readThresholds(input))));
}

/** The signals that the rules of a life compare; the others would only cost. */
function judgedSignals(signals: PodSignals): Partial<PodSignals> {
  const judged: Record<string, unknown> = { life: signals.life, age_seconds: signals.age_seconds };
  for (const key of SIGNALS_BY_LIFE[signals.life]) judged[key] = signals[key];
  return judged as Partial<PodSignals>;
}

const SIGNALS_BY_LIFE = Object.fromEntries(
  Object.entries(DEFAULT_RULES.byLife).map(([life, rules]) => [
    life,
    [...new Set(rules.flatMap((rule) => Object.keys(rule.when)))] as (keyof PodSignals)[],
  ]),
) as Record<Life, (keyof PodSignals)[]>;

function explain(verdict: Verdict, scope: Scope): void {
  const { subject, input, now } = scope.$getArgs<Args>();
  if (subject.kind !== 'pod') {
    if (subject.kind === 'unread') scope.reason = unreadReason(subject);
    return;
  }
  const signals = readSignals(subject, Date.parse(now), readThresholds(input));
  const reason = explainVerdict(verdict, subject, signals);
  const container = containerOf(verdict, signals);
  if (reason !== undefined) scope.reason = reason;
  if (container !== null && container !== NONE) scope.container = container;
}

/** The rules for a run's thresholds: built once a run, not once a subject. */
function ruleSets(): (thresholds: Thresholds) => RuleSet {
  let known: { readonly key: string; readonly rules: RuleSet } | undefined;
  return (thresholds) => {
    if (thresholds === DEFAULT_THRESHOLDS) return DEFAULT_RULES;
    const key = JSON.stringify(thresholds);
    if (known?.key !== key) known = { key, rules: buildRules(thresholds) };
    return known.rules;
  };
}
