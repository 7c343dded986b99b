/**
 * A verdict's evidence as flat data: one line for each compared condition, so that a reader can check the verdict without
 * parsing a sentence.
 */
import type { DecisionEvidenceRecord } from './decision.ts';

/** One line of evidence. A function rule has no conditions: `key`, `operator`, `threshold` and `actual` are then absent. */
export interface EvidenceLine {
  /** The rule's place, from 1. */
  readonly rule: number;
  readonly label?: string;
  /** The branch that the rule leads to. */
  readonly branch: string;
  /** Whether the whole rule matched; the one that did decided. */
  readonly decided: boolean;
  readonly key?: string;
  readonly operator?: string;
  readonly threshold?: unknown;
  readonly actual?: string;
  /** Whether this condition held. */
  readonly matched?: boolean;
}

/** The lines of a decision's evidence, in the order in which the rules were evaluated. */
export function evidenceLines(evidence: DecisionEvidenceRecord): EvidenceLine[] {
  return evidence.rules.flatMap((rule, index) => {
    const spoken = {
      rule: index + 1,
      ...(rule.label !== undefined && { label: rule.label }),
      branch: rule.branch,
      decided: rule.matched && evidence.doubt === undefined,
    };
    if (rule.conditions === undefined || rule.conditions.length === 0) return [spoken];
    return rule.conditions.map(({ key, op, threshold, actual, matched }) => ({
      ...spoken,
      key,
      operator: op,
      threshold,
      actual,
      matched,
    }));
  });
}
