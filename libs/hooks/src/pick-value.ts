/**
 * A pick: where in a delivery a value comes from, and as what.
 *
 * Invariants: only own keys are followed, so no path reaches a prototype; null, and an empty label, are missing (Prometheus
 * keeps no empty labels).
 */
import type { HookAlert, HookDelivery, HookJson } from './delivery.ts';
import { isObject } from './inert-json.ts';

/** `as` makes a text, a number or a truth value of what was picked, and takes nothing else for one. */
export interface HookPick {
  /**
   * `labels.NAME` and `annotations.NAME` (the rest of the text is one name, dots included); `facts.a.b` in the body and
   * `alert.a.b` in the alert (a number is a place in a list); or one of `fingerprint`, `status`, `name`, `startsAt`,
   * `endsAt`, `value`, `event`, `deliveryId`, `deliveryDigest`, `groupKey`, `format`. As a list, each entry is one key.
   */
  readonly from: string | readonly string[];
  /** Stands in when the value is missing. */
  readonly default?: HookJson;
  /** False: a missing value is left out of the input. Default true: without it there is no run. */
  readonly required?: boolean;
  readonly as?: 'string' | 'number' | 'boolean';
}

/** Where values are picked from. */
export interface PickSource {
  readonly delivery: HookDelivery;
  /** Undefined for an event without a status. */
  readonly alert: HookAlert | undefined;
}

export type Picked =
  | { readonly is: 'value'; readonly value: HookJson }
  | { readonly is: 'missing' | 'wrong_type'; readonly reason: string };

const OF_DELIVERY = ['event', 'deliveryId', 'deliveryDigest', 'groupKey', 'format'] as const;
const OF_ALERT = ['fingerprint', 'status', 'name', 'startsAt', 'endsAt', 'value'] as const;
const MAPS = ['labels', 'annotations'] as const;
const TREES = ['facts', 'alert'] as const;
/** The first keys of a path. */
export const PICK_ROOTS: readonly string[] = [...MAPS, ...TREES, ...OF_ALERT, ...OF_DELIVERY];
const MAX_PATH = 32;

/** A pick's path as keys; a text says what is wrong with it. */
export function readPath(from: unknown): readonly string[] | string {
  const keys = typeof from === 'string' ? splitPath(from) : from;
  if (!Array.isArray(keys) || !keys.every((key) => typeof key === 'string' && key !== '')) {
    return 'a path such as labels.namespace, or a list of keys';
  }
  const [root, ...rest] = keys as string[];
  if (root === undefined || !PICK_ROOTS.includes(root))
    return `a path that begins with one of ${PICK_ROOTS.join(', ')}`;
  if (keys.length > MAX_PATH) return `a path of at most ${MAX_PATH} keys`;
  if (includes(MAPS, root)) return rest.length === 1 ? keys : `a path such as ${root}.NAME`;
  if (includes(TREES, root)) return rest.length > 0 ? keys : `a path such as ${root}.a.b`;
  return rest.length === 0 ? keys : `${root} alone: nothing lies below it`;
}

/** Picks one value. The pick was checked at definition. */
export function pickValue(pick: HookPick, source: PickSource): Picked {
  const path = readPath(pick.from);
  if (typeof path === 'string') return { is: 'missing', reason: 'the pick has no path' };
  const shown = path.join('.');
  const found = follow(path, source);
  if (found === undefined || found === null || (path[0] === 'labels' && found === '')) {
    if (pick.default !== undefined) return { is: 'value', value: pick.default };
    return { is: 'missing', reason: `${shown} is missing` };
  }
  const value = convert(found, pick.as);
  if (value === undefined) return { is: 'wrong_type', reason: `${shown} is no ${pick.as}` };
  return { is: 'value', value };
}

function splitPath(from: string): readonly string[] {
  const dot = from.indexOf('.');
  if (dot < 0) return [from];
  const root = from.slice(0, dot);
  const rest = from.slice(dot + 1);
  return includes(MAPS, root) ? [root, rest] : [root, ...rest.split('.')];
}

function follow(path: readonly string[], { delivery, alert }: PickSource): HookJson | undefined {
  const [root, ...rest] = path as [string, ...string[]];
  if (includes(OF_DELIVERY, root)) return delivery[root];
  if (root === 'facts') return below(delivery.facts, rest);
  if (alert === undefined) return undefined;
  if (root === 'alert') return below(alert.facts, rest);
  if (includes(OF_ALERT, root)) return alert[root];
  return includes(MAPS, root) ? below(alert[root], rest) : undefined;
}

function below(value: HookJson | undefined, keys: readonly string[]): HookJson | undefined {
  let at: unknown = value;
  for (const key of keys) {
    if (Array.isArray(at) ? !/^\d{1,6}$/.test(key) : !isObject(at)) return undefined;
    if (!Object.hasOwn(at as object, key)) return undefined;
    at = (at as Record<string, unknown>)[key];
  }
  return at as HookJson | undefined;
}

function convert(value: HookJson, as: HookPick['as']): HookJson | undefined {
  if (as === undefined) return value;
  if (value !== null && typeof value === 'object') return undefined;
  const text = String(value).trim();
  if (as === 'string') return String(value);
  if (as === 'boolean') return text === 'true' ? true : text === 'false' ? false : undefined;
  const number = typeof value === 'boolean' || text === '' ? Number.NaN : Number(text);
  return Number.isFinite(number) ? number : undefined;
}

function includes<Word extends string>(words: readonly Word[], word: string): word is Word {
  return (words as readonly string[]).includes(word);
}
