/**
 * The rules, as data: each compares signals with thresholds, so that the evidence names key, operator, threshold and value.
 *
 * Invariants:
 * - the first rule that matches decides, in the order: what was not listed, damage, doubts about times, what is missing, age;
 * - `fresh` is given only by the age of a backup that its tool calls complete.
 */
import type { DefaultBranch } from 'footprintjs';
import { durationText } from '../inputs/time-fact.ts';
import { NONE, type Rule as RuleOf } from '../judging/assess-by-rules.ts';
import { DEFAULT_THRESHOLDS, type Thresholds } from './thresholds.ts';
import type { Verdict } from './verdicts.ts';

export const OTHERWISE: DefaultBranch & { readonly branch: Verdict; readonly label: string } = {
  branch: 'declined',
  label: 'no rule could place it, so no classification',
};

type Rule = RuleOf<Verdict>;

const rule = (when: Rule['when'], then: Verdict, label: string): Rule => ({ when, then, label });

/** Builds the rules for one run's thresholds. */
export function buildRules({ max_age_seconds: most, stuck_after_seconds }: Thresholds): readonly Rule[] {
  const limit = durationText(most);
  return [
    rule({ input_problem: { ne: NONE } }, 'declined', 'the input, or this part of it, cannot be read'),
    rule({ list: { eq: 'expected_missing' } }, 'missing', 'it was expected, and no input tells of it'),
    rule({ list: { eq: 'no_output' } }, 'no_output', 'the tool printed nothing'),
    rule({ list: { eq: 'check_failed' } }, 'damaged', 'a check of its repository found problems'),
    rule({ newest: { eq: 'damaged' } }, 'damaged', 'its newest backup has errors'),
    rule({ list: { eq: 'place_unreadable' } }, 'declined', 'its repository could not be read'),
    rule({ list: { eq: 'no_list' }, usable: { eq: false } }, 'declined', 'the output has no list of backups'),
    rule({ doubt: { ne: NONE } }, 'declined', 'the time of a backup, or the output, cannot be trusted'),
    rule(
      { list: { eq: 'check_clean' }, usable: { eq: false } },
      'check_clean',
      'a check of its repository found no problem',
    ),
    rule(
      { usable: { eq: false }, newest: { eq: 'running' }, newest_age_seconds: { gt: stuck_after_seconds } },
      'stuck',
      'its newest backup does not come to an end',
    ),
    rule({ usable: { eq: false }, newest: { eq: 'failed' } }, 'failed', 'its newest backup failed'),
    rule({ usable: { eq: false }, newest: { eq: 'partial' } }, 'partial', 'its newest backup is incomplete'),
    rule({ usable: { eq: false }, newest: { eq: 'unknown' } }, 'declined', 'its backup does not say how it ended'),
    rule({ usable: { eq: false } }, 'no_backup', 'there is no usable backup of it'),
    rule({ least_age_seconds: { gt: most } }, 'stale', `its newest usable backup is older than ${limit}`),
    rule({ most_age_seconds: { gte: 0, lte: most } }, 'fresh', `its newest usable backup is younger than ${limit}`),
    rule(
      { most_age_seconds: { gt: most } },
      'declined',
      'its time has no zone, and whether it is too old depends on that',
    ),
  ];
}

export const DEFAULT_RULES = buildRules(DEFAULT_THRESHOLDS);
