/**
 * An assess chart of three steps: signals, decision, reason. One chart serves one subject after another, each as its run
 * input.
 *
 * Invariant: state is flat and small. The subject itself never goes into it, only the signals that rules compare.
 */
import type { AssessArgs, RunArgs } from '@muster/envelope';
import { type DecideRule, type DefaultBranch, decide, type FlowChart, flowChart } from 'footprintjs';
import type { MissingSubject } from '../inputs/evidence-gap.ts';
import { type UnreadInput, unreadReason } from '../inputs/unread-input.ts';
import type { VerdictWords } from './verdict-words.ts';

/** Where there is nothing to say. */
export const NONE = 'none';

export type Rule<Word extends string> = DecideRule<Record<string, unknown>> & {
  readonly then: Word;
  readonly label: string;
};

/** What is judged by rules: the runbook's own subject, or what every runbook over files has beside it. */
export type RuledSubject<Own extends { readonly kind: string }> = Own | UnreadInput | MissingSubject;

export interface RuledJudging<Own extends { readonly kind: string }, Word extends string> {
  /** The decider whose branches are the verdicts. */
  readonly decider: string;
  /** What the decider decides, for who reads the chart. */
  readonly decides: string;
  readonly words: VerdictWords<Word>;
  readonly otherwise: DefaultBranch & { readonly branch: Word };
  /** The first rule must be about `input_problem`: what could not be read has no other signal. */
  readonly rules: (args: RunArgs) => readonly Rule<Word>[];
  readonly isOwn: (subject: RuledSubject<Own>) => subject is Own;
  readonly signals: (subject: Own, args: RunArgs) => Readonly<Record<string, unknown>>;
  /** The sentence of a verdict, or undefined where the deciding rule's label says it. */
  readonly reason: (verdict: Word, subject: Own, args: RunArgs) => string | undefined;
}

interface AssessState extends Record<string, unknown> {
  input_problem: string;
  reason?: string;
}

type Scope = AssessState & { $getArgs<T>(): T };

/** Builds the chart. */
export function assessByRules<Own extends { readonly kind: string }, Word extends string>(
  judging: RuledJudging<Own, Word>,
): FlowChart {
  const { decider, decides, isOwn, otherwise, reason, rules, signals, words } = judging;
  const argsOf = (scope: Scope) => scope.$getArgs<AssessArgs<RuledSubject<Own>>>();
  const read = (scope: Scope) => {
    const args = argsOf(scope);
    if (isOwn(args.subject)) Object.assign(scope, { input_problem: NONE }, signals(args.subject, args));
    else scope.input_problem = args.subject.kind === 'unread' ? args.subject.problem : 'missing';
  };
  const explain = (verdict: Word, scope: Scope) => {
    const args = argsOf(scope);
    const sentence = isOwn(args.subject)
      ? reason(verdict, args.subject, args)
      : args.subject.kind === 'unread' && unreadReason(args.subject as UnreadInput);
    if (typeof sentence === 'string') scope.reason = sentence;
  };
  let deciding = flowChart<AssessState>('Read signals', read, 'signals', {
    description: 'Computes what the rules compare',
  }).addDeciderFunction(decider, (scope) => decide(scope, [...rules(argsOf(scope))], otherwise), 'verdict', decides);
  for (const word of words.words) {
    deciding = deciding.addFunctionBranch(word, word, (scope) => explain(word, scope), words.meanings[word]);
  }
  return deciding.setDefault(otherwise.branch).end().build() as FlowChart;
}
