/**
 * What the verdict words mean, generated and never restated: the decider's declared branches, and over them the labels
 * that this run's evidence carried. There is no way to pass meanings in.
 *
 * Invariants: a rule's label beats the default's where both name one branch; a blank label is no meaning; merging is
 * associative, and the first speaker of a branch keeps it.
 */
import { cleanText } from './clean-text.ts';
import { isPlainObject } from './coverage.ts';
import type { Decision } from './decision.ts';
import { isDecider } from './decision.ts';

/** Labels heard in evidence, by branch. */
export interface HeardLabels {
  readonly rules: Readonly<Record<string, string>>;
  readonly defaults: Readonly<Record<string, string>>;
}

export const NOTHING_HEARD: HeardLabels = Object.freeze({ rules: {}, defaults: {} });

/** Harvests the labels of the named decider's decisions. */
export function hearLabels(decisions: readonly Decision[], decider: string): HeardLabels {
  const rules: Record<string, string> = {};
  const defaults: Record<string, string> = {};
  for (const decision of decisions) {
    if (decision.evidence === undefined || !isDecider(decision.decider, decider)) continue;
    for (const rule of decision.evidence.rules) if (rule.label !== undefined) rules[rule.branch] ??= rule.label;
    const { default: branch, default_label: label } = decision.evidence;
    if (label !== undefined) defaults[branch] ??= label;
  }
  return { rules, defaults };
}

/** Merges what was heard; the left speaker keeps a branch. */
export function mergeHeard(left: HeardLabels, right: HeardLabels): HeardLabels {
  return { rules: { ...right.rules, ...left.rules }, defaults: { ...right.defaults, ...left.defaults } };
}

/** The meanings map, or undefined when nothing gave one. Keys come in a stable order: declared, then as sorted. */
export function verdictMeanings(
  structures: readonly unknown[],
  decider: string,
  heard: HeardLabels,
): Record<string, string> | undefined {
  const meanings = new Map<string, string>();
  for (const structure of structures) {
    for (const branch of declaredBranches(structure, decider)) meanings.set(branch.id, branch.meaning);
  }
  for (const labels of [heard.defaults, heard.rules]) {
    for (const branch of Object.keys(labels).sort()) meanings.set(branch, labels[branch] as string);
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
    if (node.type === 'decider' && typeof node.name === 'string' && isDecider(node.name, decider)) {
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

function readBranch(node: unknown): { id: string; meaning: string } | undefined {
  if (!isPlainObject(node) || typeof node.id !== 'string') return undefined;
  const texts = [node.description, node.name].filter((text) => typeof text === 'string' && text.trim() !== '');
  const meaning = texts[0];
  return meaning === undefined ? undefined : { id: lastSegment(node.id), meaning: cleanText(String(meaning)) };
}

function lastSegment(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1);
}
