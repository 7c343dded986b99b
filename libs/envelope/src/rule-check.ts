/**
 * Checks one decide() rule where the substrate stays silent: an unknown operator and an empty `when` never match there,
 * and nobody is told (FACTS).
 */
import { isPlainObject } from './plain-object.ts';

const OPERATORS = new Set(['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'notIn']);

const ORDERINGS = new Set(['gt', 'gte', 'lt', 'lte']);
/** Longer lists make the substrate's rule throw. */
const MAX_LIST = 1000;
/** A rule on one of these keys never matches in the substrate, silently. */
const DENIED_KEYS = new Set([
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'isPrototypeOf',
  'propertyIsEnumerable',
  '__defineGetter__',
  '__defineSetter__',
  '__lookupGetter__',
  '__lookupSetter__',
]);

/** What is wrong with a rule: the place below it, what was expected, what was there. */
export interface RuleFault {
  readonly option: string;
  readonly expected: string;
  readonly got: unknown;
}

/** The first fault of a rule list, or undefined. */
export function checkRules(list: unknown): RuleFault | undefined {
  if (!Array.isArray(list)) return { option: '', expected: 'a list of rules', got: list };
  for (const [index, rule] of list.entries()) {
    const fault = checkRule(rule);
    if (fault !== undefined) return { ...fault, option: `[${index}]${fault.option}` };
  }
  return undefined;
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
    if (DENIED_KEYS.has(key)) {
      return { option: '.when', expected: 'free of the keys that the substrate denies', got: key };
    }
    if (!isPlainObject(operations) || Object.keys(operations).length === 0) {
      return { option: `.when.${key}`, expected: 'an object of operators', got: operations };
    }
    for (const [operator, threshold] of Object.entries(operations)) {
      const option = `.when.${key}.${operator}`;
      if (!OPERATORS.has(operator)) {
        return { option, expected: `one of the operators ${[...OPERATORS].join(', ')}`, got: operator };
      }
      const listed = operator === 'in' || operator === 'notIn';
      if (listed && (!Array.isArray(threshold) || threshold.length > MAX_LIST)) {
        return { option, expected: `a list of at most ${MAX_LIST}`, got: threshold };
      }
      if (operator === 'in' && Array.isArray(threshold) && threshold.length === 0) {
        return { option, expected: 'a list with something in it (an empty one never matches)', got: threshold };
      }
      if (ORDERINGS.has(operator) && (threshold === null || threshold === undefined || Number.isNaN(threshold))) {
        return { option, expected: 'something that can be compared', got: threshold };
      }
    }
    if (isEmptyRange(operations)) {
      return {
        option: `.when.${key}`,
        expected: 'a range that holds something (this one never matches)',
        got: operations,
      };
    }
  }
  return undefined;
}

/** Whether the bounds of one key exclude each other. Bounds of several kinds are left to the run, which declines on them. */
function isEmptyRange(operations: Readonly<Record<string, unknown>>): boolean {
  const { gt, gte, lt, lte } = operations;
  const lower = [gt, gte].filter((bound) => typeof bound === 'number');
  const upper = [lt, lte].filter((bound) => typeof bound === 'number');
  // Without a bound these are the infinities, which exclude nothing.
  const [low, high] = [Math.max(...lower), Math.min(...upper)];
  return low > high || (low === high && (gt === low || lt === high));
}
