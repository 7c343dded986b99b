/**
 * What a decider said: its evidence as data, and as one sentence of the walk.
 *
 * Invariant (contract "Walk descriptor"): thresholds and actual values belong into condition text, except for a redacted
 * key, where both are redacted.
 */
import type { DecisionEvidence, RedactionPolicy, RuleEvidence } from 'footprintjs';
import { cleanJson, cleanText } from './clean-text.ts';
import { isPlainObject } from './coverage.ts';
import { isRedactedKey, REDACTED } from './redaction.ts';

/** One decision of a run, redacted. */
export interface Decision {
  /** The decider's name as reported, with a fan-out branch's path in front when it ran in one. */
  readonly decider: string;
  /** The branch id when decide() gave evidence, else the branch's name. */
  readonly branch: string;
  readonly evidence?: DecisionEvidenceRecord;
}

/** One compared condition. */
export interface ConditionRecord {
  readonly key: string;
  readonly op: string;
  readonly threshold: unknown;
  readonly actual: string;
  readonly matched: boolean;
}

/** One evaluated rule. A function rule leaves no conditions, only the keys it read. */
export interface RuleRecord {
  readonly label?: string;
  readonly branch: string;
  readonly matched: boolean;
  readonly conditions?: readonly ConditionRecord[];
  readonly read?: readonly string[];
  /** The rule threw: it neither matched nor failed to match. */
  readonly failed?: true;
}

/** A decision's evidence as data: the rules in order up to the one that matched. */
export interface DecisionEvidenceRecord {
  readonly branch: string;
  readonly default: string;
  readonly default_label?: string;
  readonly rules: readonly RuleRecord[];
}

/** Whether a reported decider is the named one: by its name, or by a `/name` ending when it ran in a fan-out branch. */
export function isDecider(reported: string, name: string): boolean {
  return reported === name || reported.endsWith(`/${name}`);
}

/** Turns the substrate's decision into ours. */
export function readDecision(
  context: { decider: string; chosen: string; evidence?: unknown },
  redact: RedactionPolicy | undefined,
): Decision {
  const evidence = context.evidence;
  if (!isPlainObject(evidence) || !Array.isArray(evidence.rules) || typeof evidence.chosen !== 'string') {
    return { decider: context.decider, branch: lastSegment(context.chosen) };
  }
  const given = evidence as unknown as DecisionEvidence;
  return {
    decider: context.decider,
    branch: given.chosen,
    evidence: {
      branch: given.chosen,
      default: given.default,
      ...(isLabel(given.defaultLabel) && { default_label: cleanText(given.defaultLabel) }),
      rules: given.rules.map((rule) => readRule(rule, redact)),
    },
  };
}

/** The rule that decided, or undefined when the default branch was taken. */
export function decidingRule(evidence: DecisionEvidenceRecord): RuleRecord | undefined {
  return evidence.rules.find((rule) => rule.matched);
}

/** The label that explains the branch: the deciding rule's, or the default's own. A blank label is none. */
export function decidingLabel(evidence: DecisionEvidenceRecord): string | undefined {
  const rule = decidingRule(evidence);
  return rule === undefined ? evidence.default_label : rule.label;
}

/** The decision as a sentence for the walk. */
export function decisionText(decision: Decision): string {
  const { evidence } = decision;
  if (evidence === undefined) return `Chose ${cleanText(decision.branch)}.`;
  const failed = evidence.rules.filter((rule) => rule.failed).length;
  const doubt = failed > 0 ? ` ${failed} rule(s) could not be evaluated.` : '';
  const rule = decidingRule(evidence);
  if (rule === undefined) {
    const label = evidence.default_label === undefined ? '' : ` "${evidence.default_label}"`;
    return `No rule of ${evidence.rules.length} matched; chose the default ${evidence.branch}${label}.${doubt}`;
  }
  const name = rule.label === undefined ? '' : ` "${rule.label}"`;
  const grounds = rule.conditions
    ?.map((c) => `${c.key} ${c.actual} ${c.op} ${JSON.stringify(c.threshold)}`)
    .join(' and ');
  const read = grounds ?? (rule.read !== undefined && rule.read.length > 0 ? `it read ${rule.read.join(', ')}` : '');
  const number = evidence.rules.indexOf(rule) + 1;
  return cleanText(`Rule ${number}${name} matched${read === '' ? '' : `: ${read}`}; chose ${evidence.branch}.${doubt}`);
}

function readRule(rule: RuleEvidence, redact: RedactionPolicy | undefined): RuleRecord {
  const spoken = {
    ...(isLabel(rule.label) && { label: cleanText(rule.label) }),
    branch: rule.branch,
    matched: rule.matched,
    ...(rule.matchError !== undefined && { failed: true as const }),
  };
  if (rule.type === 'function') return { ...spoken, read: rule.inputs.map((input) => cleanText(input.key)) };
  return {
    ...spoken,
    conditions: rule.conditions.map((condition) => {
      const hidden = condition.redacted || isRedactedKey(redact, condition.key);
      return {
        key: cleanText(condition.key),
        op: condition.op,
        threshold: hidden ? REDACTED : cleanJson(condition.threshold),
        actual: hidden ? REDACTED : cleanText(condition.actualSummary),
        matched: condition.result,
      };
    }),
  };
}

function isLabel(label: unknown): label is string {
  return typeof label === 'string' && label.trim() !== '';
}

function lastSegment(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
