/**
 * Values as they came, checked for their type.
 *
 * Invariant: a value of a wrong type is null (or nothing) and leaves a doubt; it is never coerced in silence.
 */

import { readTime } from '../inputs/time-fact.ts';
import { UNRECOGNISED } from './pod-facts.ts';

export type Bag = Record<string, unknown>;

/** Gathers the first value that could not be read, and the first time that is none, while a pod is projected. */
export class Doubts {
  first: string | null = null;
  firstClock: string | null = null;

  add(doubt: string): void {
    this.first ??= doubt;
  }

  time(field: string, value: unknown): number | null {
    const { at, doubt } = readTime(value);
    if (doubt !== undefined) this.firstClock ??= `${field} ${CLOCK_WORDS[doubt]}`;
    return at;
  }

  bag(field: string, value: unknown): Bag | undefined {
    const found = asBag(value);
    if (found === undefined && !isUnset(value)) this.add(`${field} is no object`);
    return found;
  }

  list(field: string, value: unknown): readonly unknown[] {
    if (Array.isArray(value)) return value;
    if (!isUnset(value)) this.add(`${field} is no list`);
    return [];
  }

  flag(field: string, value: unknown): boolean | null {
    if (typeof value === 'boolean') return value;
    if (value === 'true' || value === 'false') return value === 'true';
    if (!isUnset(value)) this.add(`${field} is neither true nor false`);
    return null;
  }

  /** A whole number within the API's type; digits in quotes are one, too. */
  whole(field: string, value: unknown, min: number, max: number): number | null {
    if (isUnset(value)) return null;
    const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
    if (typeof number !== 'number' || !Number.isInteger(number)) {
      this.add(`${field} is no whole number`);
      return null;
    }
    if (number < min || number > max) {
      this.add(`${field} is out of range`);
      return null;
    }
    return number;
  }
}

const CLOCK_WORDS = {
  epoch: 'stands at the epoch',
  'no zone': 'has no time zone',
  unreadable: 'is no readable time',
} as const;

/** An object that is no list, or undefined. */
export function asBag(value: unknown): Bag | undefined {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Bag) : undefined;
}

/** Whether a field is not there: Go leaves it out or writes null. */
export function isUnset(value: unknown): boolean {
  return value === undefined || value === null;
}

/** A name: visible characters without spaces or slashes. */
export function identifier(value: unknown): string | undefined {
  return typeof value === 'string' && /^[^\s/\p{C}]{1,253}$/u.test(value) ? value : undefined;
}

/** A phase or a reason. An empty one is none. */
export function word(value: unknown): string | null {
  if (isUnset(value) || value === '') return null;
  return typeof value === 'string' && /^[\w.:/-]{1,64}$/.test(value) ? value : UNRECOGNISED;
}
