/**
 * What a decider said: its evidence as data, and as one sentence of the walk.
 *
 * Invariants:
 * - thresholds and actual values belong into condition text, except for a redacted key, where both are redacted
 *   (contract "Walk descriptor");
 * - a rule that threw, or that put an order on values of two kinds, judged nothing: the decision is in doubt and reads as
 *   `declined`, never as whatever came out of it (the substrate compares as JavaScript does, and says "no match": FACTS).
 */
import type { DecisionEvidence, RedactionPolicy, RuleEvidence } from 'footprintjs';
import { cleanJson, cleanText } from './clean-text.ts';
import { isPlainObject } from './plain-object.ts';
import { isRedactedKey, REDACTED } from './redaction.ts';

type FilterCondition = Extract<RuleEvidence, { type: 'filter' }>['conditions'][number];

/** Why a decision cannot be relied on. */
export type Doubt = 'rule_failed' | 'kinds_differ';

/** One decision of a run, redacted. */
export interface Decision {
  /** The decider's name as reported, with a fan-out branch's path in front when it ran in one. */
  readonly decider: string;
  /** The decider's stage id, with the same path in front. */
  readonly stageId?: string;
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
  /** The rule threw, or compared values of two kinds: it neither matched nor failed to match. */
  readonly failed?: true;
}

/** A decision's evidence as data: the rules in order up to the one that matched. */
export interface DecisionEvidenceRecord {
  readonly branch: string;
  readonly default: string;
  readonly default_label?: string;
  readonly rules: readonly RuleRecord[];
  /** There when the decision judged nothing. */
  readonly doubt?: Doubt;
}

/** Whether a decision is the named decider's: by name or id, or by a `/name` ending when it ran in a fan-out branch. */
export function isDecider(reported: string, name: string): boolean {
  return reported === name || reported.endsWith(`/${name}`);
}

/** Whether a decision was made by the decider of this name or stage id. */
export function isDecisionOf(decision: Decision, name: string): boolean {
  return isDecider(decision.decider, name) || (decision.stageId !== undefined && isDecider(decision.stageId, name));
}

/** Turns the substrate's decision into ours. */
export function readDecision(
  context: { decider: string; chosen: string; evidence?: unknown },
  redact: RedactionPolicy | undefined,
): Decision {
  const { evidence } = context;
  if (!isEvidence(evidence)) return { decider: context.decider, branch: lastSegment(context.chosen) };
  const doubt = doubtOf(evidence);
  return {
    decider: context.decider,
    branch: evidence.chosen,
    evidence: {
      branch: evidence.chosen,
      default: evidence.default,
      ...(isLabel(evidence.defaultLabel) && { default_label: cleanText(evidence.defaultLabel) }),
      rules: evidence.rules.map((rule) => readRule(rule, redact)),
      ...(doubt !== undefined && { doubt }),
    },
  };
}

/** Whether a value is decide()'s evidence. */
export function isEvidence(value: unknown): value is DecisionEvidence {
  return isPlainObject(value) && Array.isArray(value.rules) && typeof value.chosen === 'string';
}

/** Why evidence judges nothing, or undefined when it does. */
export function doubtOf(evidence: DecisionEvidence): Doubt | undefined {
  for (const rule of evidence.rules) {
    if (rule.matchError !== undefined) return 'rule_failed';
    if (rule.type === 'filter' && rule.conditions.some(kindsDiffer)) return 'kinds_differ';
  }
  return undefined;
}

/** The rule that decided, or undefined when the default branch was taken. */
export function decidingRule(evidence: DecisionEvidenceRecord): RuleRecord | undefined {
  return evidence.doubt === undefined ? evidence.rules.find((rule) => rule.matched) : undefined;
}

/** The label that explains the branch: the deciding rule's, or the default's own. A blank label is none. */
export function decidingLabel(evidence: DecisionEvidenceRecord): string | undefined {
  if (evidence.doubt !== undefined) return DOUBT_TEXT[evidence.doubt];
  const rule = decidingRule(evidence);
  return rule === undefined ? evidence.default_label : rule.label;
}

/** The doubts as people read them. */
export const DOUBT_TEXT: Readonly<Record<Doubt, string>> = {
  rule_failed: 'a rule could not be evaluated, so no classification was reached',
  kinds_differ: 'a rule compared values of two kinds, so no classification was reached',
};

/** The decision as a sentence for the walk. */
export function decisionText(decision: Decision): string {
  const { evidence } = decision;
  if (evidence === undefined) return `Chose ${cleanText(decision.branch)}.`;
  if (evidence.doubt !== undefined) {
    const index = evidence.rules.findIndex((rule) => rule.failed);
    return cleanText(
      `${ruleName(evidence, index)} judged nothing: ${DOUBT_TEXT[evidence.doubt]}${grounds(evidence.rules[index])}; chose ${evidence.branch}.`,
    );
  }
  const rule = decidingRule(evidence);
  if (rule === undefined) {
    const label = evidence.default_label === undefined ? '' : ` "${evidence.default_label}"`;
    return cleanText(`No rule of ${evidence.rules.length} matched; chose the default ${evidence.branch}${label}.`);
  }
  const name = ruleName(evidence, evidence.rules.indexOf(rule));
  return cleanText(`${name} matched${grounds(rule)}; chose ${evidence.branch}.`);
}

function ruleName(evidence: DecisionEvidenceRecord, index: number): string {
  const label = evidence.rules[index]?.label;
  return `Rule ${index + 1}${label === undefined ? '' : ` "${label}"`}`;
}

function grounds(rule: RuleRecord | undefined): string {
  if (rule?.conditions !== undefined && rule.conditions.length > 0) {
    return `: ${rule.conditions.map((c) => `${c.key} ${c.actual} ${c.op} ${JSON.stringify(c.threshold)}`).join(' and ')}`;
  }
  return rule?.read !== undefined && rule.read.length > 0 ? `: it read ${rule.read.join(', ')}` : '';
}

function readRule(rule: RuleEvidence, redact: RedactionPolicy | undefined): RuleRecord {
  const failed = rule.matchError !== undefined || (rule.type === 'filter' && rule.conditions.some(kindsDiffer));
  const spoken = {
    ...(isLabel(rule.label) && { label: cleanText(rule.label) }),
    branch: rule.branch,
    matched: rule.matched && !failed,
    ...(failed && { failed: true as const }),
  };
  if (rule.type === 'function') return { ...spoken, read: rule.inputs.map((input) => cleanText(input.key)) };
  return { ...spoken, conditions: rule.conditions.map((condition) => readCondition(condition, redact)) };
}

function readCondition(condition: FilterCondition, redact: RedactionPolicy | undefined): ConditionRecord {
  const hidden = condition.redacted || isRedactedKey(redact, condition.key);
  return {
    key: cleanText(condition.key),
    op: condition.op,
    threshold: hidden ? REDACTED : cleanJson(condition.threshold),
    actual: hidden ? REDACTED : cleanText(condition.actualSummary),
    matched: condition.result,
  };
}

const ORDERINGS = new Set(['gt', 'gte', 'lt', 'lte']);

/** Whether an ordering was asked of values of two kinds. A missing value is a missing signal, which rules may rely on. */
function kindsDiffer(condition: FilterCondition): boolean {
  if (!ORDERINGS.has(condition.op) || condition.redacted) return false;
  const actual = kindOfSummary(condition.actualSummary);
  return actual !== 'missing' && actual !== typeof condition.threshold;
}

/** The kind of the value that the substrate's summary stands for: text is quoted there, and nothing else is. */
function kindOfSummary(summary: string): string {
  if (summary === 'undefined' || summary === 'null') return 'missing';
  if (summary.startsWith('"')) return 'string';
  if (summary === 'true' || summary === 'false') return 'boolean';
  return summary !== 'NaN' && !Number.isNaN(Number(summary)) ? 'number' : 'other';
}

function isLabel(label: unknown): label is string {
  return typeof label === 'string' && label.trim() !== '';
}

function lastSegment(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
