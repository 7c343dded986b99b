/**
 * Facts brought to the kinds that rules compare. The substrate compares as JavaScript does ('30' is `gt 7`, 'n/a' is not,
 * and nobody is told): a stage normalises what it read before the decider sees it, and what cannot be read as the
 * expected kind is missing, for a rule to decline on.
 */
import type { DecideRule } from 'footprintjs';
import { isPlainObject } from './plain-object.ts';

type Kind = 'number' | 'boolean' | 'string';

/**
 * A copy of the facts in which each key that a filter rule compares has the kind of its threshold, or is null. Keys that
 * no rule compares, or that rules compare with several kinds, stay as they are.
 */
export function normalizeFacts(
  rules: readonly DecideRule<Record<string, unknown>>[],
  facts: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const kinds = comparedKinds(rules);
  const normal: Record<string, unknown> = { ...facts };
  for (const [key, expected] of kinds) {
    if (Object.hasOwn(facts, key) && expected.size === 1) normal[key] = asKind(facts[key], [...expected][0] as Kind);
  }
  return normal;
}

function comparedKinds(rules: readonly DecideRule<Record<string, unknown>>[]): Map<string, Set<string>> {
  const kinds = new Map<string, Set<string>>();
  for (const { when } of rules) {
    if (!isPlainObject(when)) continue;
    for (const [key, operations] of Object.entries(when)) {
      const expected = kinds.get(key) ?? new Set();
      kinds.set(key, expected);
      for (const threshold of Object.values(operations ?? {}).flat()) {
        if (threshold !== null && threshold !== undefined) expected.add(typeof threshold);
      }
    }
  }
  return kinds;
}

function asKind(value: unknown, kind: Kind): unknown {
  if (typeof value === kind) return Number.isNaN(value) ? null : value;
  if (kind === 'number' && typeof value === 'string' && /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i.test(value)) {
    return Number(value);
  }
  if (kind === 'boolean' && typeof value === 'string' && /^\s*(true|false)\s*$/i.test(value)) {
    return value.trim().toLowerCase() === 'true';
  }
  if (kind === 'string' && (typeof value === 'number' || typeof value === 'boolean')) return String(value);
  return null;
}
