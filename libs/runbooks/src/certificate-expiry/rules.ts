/**
 * The rules, as data: each compares signals with thresholds, so that the evidence names key, operator, threshold and value.
 *
 * Invariants:
 * - the first rule that matches decides, in the order: dates that are none, problems that are certain, what is fine;
 * - `valid` is given only to a certificate whose both dates were read.
 */
import type { DefaultBranch } from 'footprintjs';
import { NONE, type Rule as RuleOf } from '../judging/assess-by-rules.ts';
import { DEFAULT_THRESHOLDS, type Thresholds } from './thresholds.ts';
import type { Verdict } from './verdicts.ts';

export const OTHERWISE: DefaultBranch & { readonly branch: Verdict; readonly label: string } = {
  branch: 'declined',
  label: 'no rule could place it, so no classification',
};

type Rule = RuleOf<Verdict>;

const DAY_SECONDS = 86_400;

/** Builds the rules for one run's thresholds. */
export function buildRules({ warn_at_most_days }: Thresholds): readonly Rule[] {
  const chainLimit = warn_at_most_days * DAY_SECONDS;
  return [
    { when: { input_problem: { ne: NONE } }, then: 'declined', label: 'the input, or this part of it, cannot be read' },
    { when: { dates: { ne: 'sane' } }, then: 'declined', label: 'its dates cannot be read, or end before they begin' },
    { when: { seconds_left: { lt: 0 } }, then: 'expired', label: 'its time is over' },
    { when: { seconds_early: { gt: 0 } }, then: 'not_yet_valid', label: 'its time has not begun' },
    {
      when: { chain_seconds_left: { lt: 0 } },
      then: 'chain_expired',
      label: 'an issuer that it is served with is over',
    },
    {
      when: { chain_seconds_early: { gt: 0 } },
      then: 'chain_expired',
      label: 'an issuer that it is served with has not begun',
    },
    { when: { chain: { eq: 'broken' } }, then: 'chain_broken', label: 'what it is served with did not issue it' },
    {
      when: { renewal_overdue_seconds: { gte: 0 } },
      then: 'expires_soon',
      label: 'it should have been renewed by now',
    },
    {
      when: { chain_seconds_left: { lte: chainLimit } },
      then: 'chain_expires_soon',
      label: `an issuer that it is served with ends within ${warn_at_most_days} days`,
    },
    { when: { dates: { eq: 'sane' }, seconds_left: { gte: 0 } }, then: 'valid', label: 'it is in its time' },
  ];
}

export const DEFAULT_RULES = buildRules(DEFAULT_THRESHOLDS);
