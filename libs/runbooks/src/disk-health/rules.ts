/**
 * The rules, as data: each compares signals with thresholds, so that the evidence names key, operator, threshold and value.
 *
 * Invariants:
 * - the first rule that matches decides, in the order problems that are certain, then doubts, then what is fine;
 * - `healthy` is given only where the disk says so itself. History (bits 5 and 6 of the exit status) decides nothing.
 */
import type { DefaultBranch } from 'footprintjs';
import { NONE, type Rule as RuleOf } from '../judging/assess-by-rules.ts';
import { DEFAULT_THRESHOLDS, type Thresholds } from './thresholds.ts';
import type { Verdict } from './verdicts.ts';

export const OTHERWISE: DefaultBranch & { readonly branch: Verdict; readonly label: string } = {
  branch: 'declined',
  label: 'it does not say whether it is well',
};

type Rule = RuleOf<Verdict>;

const rule = (when: Rule['when'], then: Verdict, label: string): Rule => ({ when, then, label });

/** Builds the rules for one run's thresholds. */
export function buildRules(limits: Thresholds): readonly Rule[] {
  return [
    rule({ input_problem: { ne: NONE } }, 'declined', 'the input, or this item of it, cannot be read'),
    rule({ warns_read_only: { eq: true } }, 'read_only', 'it takes no writes any more'),
    rule({ warns_reliability: { eq: true } }, 'degraded', 'its reliability is degraded'),
    rule({ warns_backup: { eq: true } }, 'backup_failed', 'the backup of its volatile memory has failed'),
    rule({ warns_spare: { eq: true } }, 'spare_low', 'its spare capacity is below the threshold'),
    rule({ warns_temperature: { eq: true } }, 'hot', 'it warns of its temperature'),
    rule({ passed: { eq: 'no' } }, 'failing', 'it says that it fails'),
    rule({ exit_says_failing: { eq: true } }, 'failing', 'smartctl says that it fails (bit 3)'),
    rule({ not_responding: { eq: true } }, 'not_responding', 'it is there and does not answer'),
    rule({ attributes_failing: { gt: 0 } }, 'prefail', 'an attribute is below its threshold now'),
    rule({ exit_says_prefail: { eq: true } }, 'prefail', 'smartctl found an attribute below its threshold (bit 4)'),
    rule({ pending: { gt: limits.pending_allowed } }, 'pending_sectors', 'sectors wait to be reallocated'),
    rule(
      { uncorrectable: { gt: limits.uncorrectable_allowed } },
      'uncorrectable_sectors',
      'sectors could not be corrected',
    ),
    rule({ media_errors: { gt: limits.media_errors_allowed } }, 'media_errors', 'errors could not be corrected'),
    rule(
      { grown_defects: { gt: limits.grown_defects_allowed } },
      'grown_defects',
      `more than ${limits.grown_defects_allowed} defects have grown`,
    ),
    rule(
      { reallocated: { gt: limits.reallocated_allowed } },
      'reallocated_sectors',
      `more than ${limits.reallocated_allowed} sectors were reallocated`,
    ),
    rule({ spare_short: { gt: 0 } }, 'spare_low', 'its spare capacity is below the threshold'),
    rule(
      { used_percent: { gte: limits.wear_limit_percent } },
      'worn',
      `${limits.wear_limit_percent} % of its endurance is used`,
    ),
    rule({ degrees_over: { gt: 0 } }, 'hot', 'it is hotter than it may be'),
    rule({ self_test: { eq: 'failed' } }, 'self_test_failed', 'its newest self-test failed'),
    rule({ exit_says_self_test: { eq: true } }, 'self_test_failed', 'its self-test log has errors (bit 7)'),
    rule({ doubt: { ne: NONE } }, 'declined', 'a value that the verdict needs cannot be read'),
    rule({ nature: { ne: 'health' } }, 'declined', 'it tells nothing of its health'),
    rule({ passed: { eq: 'yes' } }, 'healthy', 'it says that it is well, and nothing speaks against it'),
    rule(
      { passed: { eq: 'untold' }, warns_temperature: { eq: false }, nature: { eq: 'health' } },
      'healthy',
      'it warns of nothing, and nothing speaks against it',
    ),
  ];
}

export const DEFAULT_RULES = buildRules(DEFAULT_THRESHOLDS);
