/**
 * What the verdict words mean, generated and never restated: the decider's declared branches, and over them the labels
 * that this run's evidence carried. There is no way to pass meanings in.
 *
 * Invariants: a rule's label beats the default's where both name one branch; of two labels the earlier rule's stands,
 * then the smaller text; a blank label is no meaning. So merging is associative, commutative and idempotent, and a map
 * does not depend on which way the data went first.
 */
import { cleanText, defineKey } from './clean-text.ts';
import type { Decision } from './decision.ts';
import { isDecider, isDecisionOf } from './decision.ts';
import { isPlainObject } from './plain-object.ts';

/** A label with the place of the rule that spoke it. */
export type HeardLabel = readonly [rule: number, label: string];

/** Labels heard in evidence, by branch. */
export interface HeardLabels {
  readonly rules: Readonly<Record<string, HeardLabel>>;
  readonly defaults: Readonly<Record<string, HeardLabel>>;
}

export const NOTHING_HEARD: HeardLabels = Object.freeze({ rules: {}, defaults: {} });

/** Harvests the labels of the named decider's decisions. */
export function hearLabels(decisions: readonly Decision[], decider: string): HeardLabels {
  const rules: Record<string, HeardLabel> = {};
  const defaults: Record<string, HeardLabel> = {};
  for (const decision of decisions) {
    if (decision.evidence === undefined || !isDecisionOf(decision, decider)) continue;
    const { rules: evaluated, default: branch, default_label: label } = decision.evidence;
    for (const [index, rule] of evaluated.entries()) {
      if (rule.label !== undefined) hear(rules, rule.branch, [index, rule.label]);
    }
    if (label !== undefined) hear(defaults, branch, [0, label]);
  }
  return { rules, defaults };
}

/** Merges what was heard. */
export function mergeHeard(left: HeardLabels, right: HeardLabels): HeardLabels {
  return { rules: mergeLabels(left.rules, right.rules), defaults: mergeLabels(left.defaults, right.defaults) };
}

/** What the charts themselves say, by branch, in the order in which they declare them. */
export function declaredMeanings(structures: readonly unknown[], decider: string): Record<string, string> {
  const branches = structures.flatMap((structure) => declaredBranches(structure, decider));
  return Object.fromEntries(branches.map(({ id, meaning }) => [id, meaning]));
}

/** The meanings map, or undefined when nothing gave one. Keys come in a stable order: declared, defaults, rules. */
export function verdictMeanings(
  declared: Readonly<Record<string, string>>,
  heard: HeardLabels,
): Record<string, string> | undefined {
  const meanings = new Map(Object.entries(declared));
  for (const labels of [heard.defaults, heard.rules]) {
    for (const branch of Object.keys(labels).sort()) meanings.set(branch, (labels[branch] as HeardLabel)[1]);
  }
  return meanings.size === 0 ? undefined : Object.fromEntries(meanings);
}

/** The branches of the named decider in a chart's build-time structure, each with its description, else its name. */
export function declaredBranches(structure: unknown, decider: string): { id: string; meaning: string }[] {
  const found: { id: string; meaning: string }[] = [];
  const seen = new Set<unknown>();
  const visit = (node: unknown): void => {
    if (node === null || typeof node !== 'object' || seen.has(node)) return;
    seen.add(node);
    if (Array.isArray(node)) {
      for (const item of node) visit(item);
      return;
    }
    if (!isPlainObject(node)) return;
    if (isDeclaredDecider(node, decider)) {
      for (const child of Array.isArray(node.children) ? node.children : []) {
        const branch = readBranch(child);
        if (branch !== undefined) found.push(branch);
      }
    }
    for (const value of Object.values(node)) visit(value);
  };
  visit(structure);
  return found;
}

function isDeclaredDecider(node: Record<string, unknown>, decider: string): boolean {
  return (
    node.type === 'decider' &&
    [node.name, node.id].some((spelling) => typeof spelling === 'string' && isDecider(spelling, decider))
  );
}

function readBranch(node: unknown): { id: string; meaning: string } | undefined {
  if (!isPlainObject(node) || typeof node.id !== 'string') return undefined;
  const texts = [node.description, node.name].filter((text) => typeof text === 'string' && text.trim() !== '');
  const meaning = texts[0];
  return meaning === undefined ? undefined : { id: lastSegment(node.id), meaning: cleanText(String(meaning)) };
}

function hear(labels: Record<string, HeardLabel>, branch: string, label: HeardLabel): void {
  const known = Object.hasOwn(labels, branch) ? labels[branch] : undefined;
  if (known === undefined || comesBefore(label, known)) defineKey(labels, branch, label);
}

function mergeLabels(
  left: Readonly<Record<string, HeardLabel>>,
  right: Readonly<Record<string, HeardLabel>>,
): Record<string, HeardLabel> {
  const merged = { ...left };
  for (const [branch, label] of Object.entries(right)) hear(merged, branch, label);
  return merged;
}

function comesBefore(left: HeardLabel, right: HeardLabel): boolean {
  return left[0] !== right[0] ? left[0] < right[0] : left[1] < right[1];
}

function lastSegment(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1);
}
