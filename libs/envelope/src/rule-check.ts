/**
 * Checks one decide() rule where the substrate stays silent: an unknown operator and an empty `when` never match there,
 * and nobody is told (FACTS).
 */
import { isPlainObject } from './coverage.ts';

const OPERATORS = new Set(['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'notIn']);

/** What is wrong with a rule: the place below it, what was expected, what was there. */
export interface RuleFault {
  readonly option: string;
  readonly expected: string;
  readonly got: unknown;
}

/** The first fault of a rule, or undefined. */
export function checkRule(rule: unknown): RuleFault | undefined {
  if (!isPlainObject(rule)) return { option: '', expected: 'an object with when and then', got: rule };
  if (typeof rule.then !== 'string' || rule.then.trim() === '') {
    return { option: '.then', expected: 'a non-empty verdict word', got: rule.then };
  }
  if (rule.label !== undefined && typeof rule.label !== 'string') {
    return { option: '.label', expected: 'a string', got: rule.label };
  }
  if (typeof rule.when === 'function') return undefined;
  if (!isPlainObject(rule.when) || Object.keys(rule.when).length === 0) {
    return {
      option: '.when',
      expected: 'a function or at least one condition (an empty one never matches)',
      got: rule.when,
    };
  }
  for (const [key, operations] of Object.entries(rule.when)) {
    if (!isPlainObject(operations) || Object.keys(operations).length === 0) {
      return { option: `.when.${key}`, expected: 'an object of operators', got: operations };
    }
    for (const [operator, threshold] of Object.entries(operations)) {
      const option = `.when.${key}.${operator}`;
      if (!OPERATORS.has(operator)) {
        return { option, expected: `one of the operators ${[...OPERATORS].join(', ')}`, got: operator };
      }
      if ((operator === 'in' || operator === 'notIn') && !Array.isArray(threshold)) {
        return { option, expected: 'a list', got: threshold };
      }
    }
  }
  return undefined;
}
