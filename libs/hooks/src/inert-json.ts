/**
 * JSON from outside, made inert: texts lose what cannot be seen and are cut at a length, keys that could reach a prototype
 * are left out. What was cut or left out is counted, so that it can be said.
 */
import { cleanText } from '@muster/envelope';
import type { HookFacts, HookJson } from './delivery.ts';

/** Longest text of a value and of a key, in UTF-16 units. */
export const MAX_TEXT = 4096;
export const MAX_KEY = 256;

/** Counts what a body lost on its way in. */
export class Losses {
  cutTexts = 0;
  unsafeKeys = 0;

  /** What was lost, as sentences. */
  sentences(): string[] {
    return [
      ...(this.cutTexts > 0 ? [`${this.cutTexts} texts were longer than ${MAX_TEXT} characters and are cut`] : []),
      ...(this.unsafeKeys > 0
        ? [`${this.unsafeKeys} keys are left out: named __proto__, or another one's once made visible`]
        : []),
    ];
  }
}

/** A JSON object as it is: what is no object has no entries. */
export function inertFacts(value: unknown, losses: Losses): HookFacts {
  const object: Record<string, HookJson> = {};
  for (const [key, item] of objectEntries(value)) {
    // Looked at after cleaning: an invisible character would carry the name past. A key that was clean goes first.
    const safe = inertText(key, losses, MAX_KEY);
    const taken = safe !== key && Object.hasOwn(object, safe);
    if (safe === '__proto__' || taken) losses.unsafeKeys += 1;
    else object[safe] = inertJson(item, losses);
  }
  return object;
}

/** A text without what cannot be seen, cut at a length. Line ends stay. */
export function inertText(text: string, losses: Losses, maxLength = MAX_TEXT): string {
  const clean = cleanText(text);
  if (clean.length <= maxLength) return clean;
  losses.cutTexts += 1;
  return `${clean.slice(0, maxLength - 1).toWellFormed()}…`;
}

/** The entries of a JSON object; none for anything else. */
export function objectEntries(value: unknown): [string, unknown][] {
  return isObject(value) ? Object.entries(value) : [];
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

/** A member of a JSON object by its own key; never the prototype's. */
export function own(value: unknown, ...path: readonly string[]): unknown {
  let at = value;
  for (const key of path) {
    if (at === null || typeof at !== 'object' || !Object.hasOwn(at, key)) return undefined;
    at = (at as Record<string, unknown>)[key];
  }
  return at;
}

/** A text or a number, as one line; undefined for anything else and for nothing. */
export function ownText(value: unknown, ...path: readonly string[]): string | undefined {
  const found = own(value, ...path);
  if (typeof found !== 'string' && typeof found !== 'number') return undefined;
  const line = cleanText(String(found).slice(0, MAX_TEXT)).replace(/\s+/g, ' ').trim();
  return line === '' ? undefined : line;
}

function inertJson(value: unknown, losses: Losses): HookJson {
  if (typeof value === 'string') return inertText(value, losses);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value === 'boolean' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => inertJson(item, losses));
  return inertFacts(value, losses);
}
