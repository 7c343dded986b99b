/**
 * The rules, as data: each compares signals with thresholds, so that the evidence names key, operator, threshold and value.
 *
 * Invariants:
 * - the first rule that matches decides, in the order problems that are certain, then doubts, then what is fine;
 * - `up_to_date` is given by a rule that saw a whole list without an update. An inventory says nothing about updates.
 */

import type { DefaultBranch } from 'footprintjs';
import { durationText } from '../inputs/time-fact.ts';
import { NONE, type Rule as RuleOf } from '../judging/assess-by-rules.ts';
import { DEFAULT_THRESHOLDS, type Thresholds } from './thresholds.ts';
import type { Verdict } from './verdicts.ts';

export const OTHERWISE: DefaultBranch & { readonly branch: Verdict; readonly label: string } = {
  branch: 'declined',
  label: 'it tells neither of updates nor of restarts',
};

type Rule = RuleOf<Verdict>;

/** Builds the rules for one run's thresholds. */
export function buildRules({ other_updates_allowed: allowed, max_index_age_seconds }: Thresholds): readonly Rule[] {
  const limit = durationText(max_index_age_seconds);
  return [
    { when: { input_problem: { ne: NONE } }, then: 'declined', label: 'the input cannot be read' },
    { when: { broken: { gt: 0 } }, then: 'broken_packages', label: 'packages are half installed or broken' },
    { when: { security_updates: { gt: 0 } }, then: 'security_updates', label: 'security updates are waiting' },
    { when: { support: { eq: 'ended' } }, then: 'end_of_life', label: 'the distribution is out of support' },
    { when: { reboot: { eq: 'required' } }, then: 'reboot_required', label: 'a reboot is needed' },
    {
      when: { updates: { gt: allowed } },
      then: 'updates',
      label: allowed === 0 ? 'updates are waiting' : `more than ${allowed} updates are waiting`,
    },
    { when: { kept_back: { gt: 0 } }, then: 'kept_back', label: 'updates are kept back, and no phasing explains it' },
    { when: { doubt: { ne: NONE } }, then: 'declined', label: 'what it tells cannot be trusted to be whole' },
    { when: { services: { gt: 0 } }, then: 'restart_services', label: 'services run what was replaced' },
    {
      when: { index_age_seconds: { gt: max_index_age_seconds } },
      then: 'declined',
      label: `the package index is older than ${limit}`,
    },
    { when: { updates: { gte: 0 } }, then: 'up_to_date', label: 'no update is waiting that could be installed' },
    {
      when: { reboot: { eq: 'not_needed' } },
      then: 'no_restart_needed',
      label: 'no restart is needed; nothing was told about updates',
    },
    { when: { services: { eq: 0 } }, then: 'no_restart_needed', label: 'no service runs what was replaced' },
  ];
}

export const DEFAULT_RULES = buildRules(DEFAULT_THRESHOLDS);
