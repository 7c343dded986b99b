/**
 * A run's input as a JSON value with picks in it.
 *
 * Invariant: keys come from the declaration alone, values from the delivery; no key of a sender's becomes one of the
 * input's own, and none reaches a prototype.
 */
import type { HookJson } from './delivery.ts';
import { isObject } from './inert-json.ts';
import { type HookPick, type PickSource, pickValue, readPath } from './pick-value.ts';

/** A value as it is, a pick, `{ literal }` for a value that looks like a pick, or a list or an object of these. */
export type InputTemplate =
  | null
  | boolean
  | number
  | string
  | HookPick
  | { readonly literal: HookJson }
  | readonly InputTemplate[]
  | { readonly [key: string]: InputTemplate };

/** An input that was filled, or the first fact that was missing. */
export type FilledInput =
  | { readonly is: 'input'; readonly input: HookJson }
  | { readonly is: 'missing' | 'wrong_type'; readonly reason: string };

/** What is wrong with a template: the option's path, and what was expected there. */
export interface TemplateFault {
  readonly option: string;
  readonly expected: string;
  readonly got: unknown;
}

const MAX_DEPTH = 16;
const MAX_NODES = 1000;
const PICK_KEYS = ['from', 'default', 'required', 'as'];
const AS = ['string', 'number', 'boolean'];
const UNSAFE_KEYS = ['__proto__', 'constructor', 'prototype'];
/** A value that is left out of a list or an object. */
const LEFT_OUT = Symbol('left out');

/** Fills a checked template from one alert or event. */
export function fillTemplate(template: InputTemplate, source: PickSource): FilledInput {
  const faults: Exclude<FilledInput, { is: 'input' }>[] = [];
  const filled = fill(template, source, 'input', (is, reason) => faults.push({ is, reason }));
  return faults[0] ?? { is: 'input', input: filled === LEFT_OUT ? null : filled };
}

/** Finds the first fault of a template, or undefined. */
export function findTemplateFault(template: unknown, option: string): TemplateFault | undefined {
  const seen = { nodes: 0 };
  return findFault(template, option, 0, seen);
}

/** Finds the first fault of a pick, or undefined. */
export function findPickFault(pick: unknown, option: string): TemplateFault | undefined {
  if (!isObject(pick) || !Object.hasOwn(pick, 'from'))
    return { option, expected: 'a pick with a path `from`', got: pick };
  const strange = Object.keys(pick).find((key) => !PICK_KEYS.includes(key));
  if (strange !== undefined) {
    return { option: `${option}.${strange}`, expected: `one of ${PICK_KEYS.join(', ')} in a pick`, got: pick[strange] };
  }
  const path = readPath(pick.from);
  if (typeof path === 'string') return { option: `${option}.from`, expected: path, got: pick.from };
  if (pick.required !== undefined && typeof pick.required !== 'boolean') {
    return { option: `${option}.required`, expected: 'true or false', got: pick.required };
  }
  if (pick.required === true && pick.default !== undefined) {
    return { option: `${option}.default`, expected: 'left out where the value is required', got: pick.default };
  }
  if (pick.as !== undefined && !AS.includes(pick.as as string)) {
    return { option: `${option}.as`, expected: AS.join(', '), got: pick.as };
  }
  return pick.default === undefined ? undefined : findLiteralFault(pick.default, `${option}.default`, 0);
}

type Missing = (is: 'missing' | 'wrong_type', reason: string) => void;

function fill(template: InputTemplate, source: PickSource, at: string, missing: Missing): HookJson | typeof LEFT_OUT {
  if (template === null || typeof template !== 'object') return template;
  if (isList(template)) {
    return template
      .map((item, place) => fill(item, source, `${at}.${place}`, missing))
      .filter((item) => item !== LEFT_OUT);
  }
  if (isPick(template)) {
    const picked = pickValue(template, source);
    if (picked.is === 'value') return copy(picked.value);
    if (picked.is === 'wrong_type' || template.required !== false)
      missing(picked.is, `${picked.reason}; ${at} needs it`);
    return LEFT_OUT;
  }
  if (isLiteral(template)) return copy(template.literal);
  const object: Record<string, HookJson> = {};
  for (const [key, item] of Object.entries(template)) {
    const value = fill(item, source, `${at}.${key}`, missing);
    if (value !== LEFT_OUT) object[key] = value;
  }
  return object;
}

/** A copy of its own: what a run does to its input reaches neither the delivery nor another run. */
function copy(value: HookJson): HookJson {
  return value !== null && typeof value === 'object' ? structuredClone(value) : value;
}

function findFault(
  template: unknown,
  option: string,
  depth: number,
  seen: { nodes: number },
): TemplateFault | undefined {
  seen.nodes += 1;
  if (depth > MAX_DEPTH) return { option, expected: `a template of at most ${MAX_DEPTH} levels`, got: template };
  if (seen.nodes > MAX_NODES) return { option, expected: `a template of at most ${MAX_NODES} values`, got: template };
  if (Array.isArray(template)) {
    return first(
      template.map((item, at) => [String(at), item]),
      (at, item) => findFault(item, `${option}.${at}`, depth + 1, seen),
    );
  }
  if (!isObject(template)) return findLiteralFault(template, option, depth);
  if (Object.hasOwn(template, 'from')) return findPickFault(template, option);
  if (Object.hasOwn(template, 'literal')) {
    return Object.keys(template).length === 1
      ? findLiteralFault(template.literal, `${option}.literal`, depth)
      : { option, expected: '`literal` alone', got: template };
  }
  return findObjectFault(template, option, (item, place) => findFault(item, place, depth + 1, seen));
}

function findLiteralFault(value: unknown, option: string, depth: number): TemplateFault | undefined {
  if (depth > MAX_DEPTH) return { option, expected: `a value of at most ${MAX_DEPTH} levels`, got: value };
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return undefined;
  if (typeof value === 'number' && Number.isFinite(value)) return undefined;
  if (Array.isArray(value)) {
    return first(
      value.map((item, at) => [String(at), item]),
      (at, item) => findLiteralFault(item, `${option}.${at}`, depth + 1),
    );
  }
  if (isObject(value)) return findObjectFault(value, option, (item, place) => findLiteralFault(item, place, depth + 1));
  return { option, expected: 'a JSON value or a pick; code is never part of a hook', got: value };
}

function findObjectFault(
  object: Record<string, unknown>,
  option: string,
  look: (item: unknown, place: string) => TemplateFault | undefined,
): TemplateFault | undefined {
  const prototype = Object.getPrototypeOf(object);
  if (prototype !== null && prototype !== Object.prototype) return { option, expected: 'a plain object', got: object };
  return first(Object.entries(object), (key, item) =>
    UNSAFE_KEYS.includes(key)
      ? { option: `${option}.${key}`, expected: 'another key: this one reaches a prototype', got: item }
      : look(item, `${option}.${key}`),
  );
}

function first(
  entries: readonly (readonly [string, unknown])[] | [string, unknown][],
  look: (key: string, item: unknown) => TemplateFault | undefined,
): TemplateFault | undefined {
  for (const [key, item] of entries as readonly (readonly [string, unknown])[]) {
    const fault = look(key, item);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function isList(template: InputTemplate): template is readonly InputTemplate[] {
  return Array.isArray(template);
}

function isPick(template: InputTemplate): template is HookPick {
  return template !== null && typeof template === 'object' && Object.hasOwn(template, 'from');
}

function isLiteral(template: InputTemplate): template is { readonly literal: HookJson } {
  return template !== null && typeof template === 'object' && Object.hasOwn(template, 'literal');
}
