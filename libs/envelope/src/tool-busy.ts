/**
 * Targets that are busy: how a tool says so, and how that is recognised in what clients of the network throw.
 *
 * Invariant: of an error that comes from outside only the status and the time to wait are read, never its text.
 */
import { ToolRefusedError } from './tool-refused.ts';

/**
 * What a tool throws when its target asks to be left alone for a while. The call is tried again later, and meanwhile
 * nobody calls that tool for that target.
 */
export class ToolBusyError extends Error {
  override readonly name = 'ToolBusyError';
  readonly code = 'tool_busy';
  /** How long the target asked to be left alone; a growing pause is taken when it did not say. */
  readonly retryAfterMs: number | undefined;

  constructor(options: { readonly retryAfterMs?: number } = {}) {
    super('the target of the tool is busy');
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** A call that was given up because its target stayed busy. */
export class TargetBusyError extends ToolRefusedError {
  override readonly name = 'TargetBusyError';
  /** The end of the message, behind the names of tool and target. */
  readonly why: string;

  constructor(tool: string, target: string | undefined, why: string) {
    const whom = target === undefined ? 'what it asks' : `its target '${target}'`;
    super(tool, 'target_busy', `found ${whom} busy, ${why}`);
    this.why = why;
  }
}

/** The given-up call in an error's chain of causes, or undefined. */
export function targetBusyOf(error: unknown): TargetBusyError | undefined {
  const seen = new Set<unknown>();
  for (let current = error; isObject(current) && !seen.has(current); current = read(current, 'cause')) {
    if (current instanceof TargetBusyError) return current;
    seen.add(current);
  }
  return undefined;
}

/** A target that is busy, and for how long it said. */
export interface BusySign {
  readonly retryAfterMs?: number;
}

/**
 * Reads whether an error says that a target is busy: a {@link ToolBusyError}, HTTP's 429, or 503 with a time to come
 * back, anywhere down the chain of causes. Statuses are looked for where HTTP clients put them (`status`, `statusCode`,
 * `response.status`, `$metadata.httpStatusCode`), times in `retryAfterMs`, `retryAfter` and the header `retry-after`
 * (seconds or an HTTP date).
 */
export function readBusy(error: unknown, nowMs: number = Date.now()): BusySign | undefined {
  const seen = new Set<unknown>();
  for (let current = error; isObject(current) && !seen.has(current); current = read(current, 'cause')) {
    seen.add(current);
    const retryAfterMs = retryTime(current, nowMs);
    const sign = retryAfterMs === undefined ? {} : { retryAfterMs };
    if (read(current, 'code') === 'tool_busy') return sign;
    const status = statusOf(current);
    if (status === 429 || (status === 503 && retryAfterMs !== undefined)) return sign;
  }
  return undefined;
}

function statusOf(error: object): number | undefined {
  const response = read(error, 'response');
  const places = [
    read(error, 'status'),
    read(error, 'statusCode'),
    read(error, 'code'),
    read(response, 'status'),
    read(response, 'statusCode'),
    read(read(error, '$metadata'), 'httpStatusCode'),
  ];
  return places.find((status): status is number => typeof status === 'number');
}

function retryTime(error: object, nowMs: number): number | undefined {
  const response = read(error, 'response');
  const exact = read(error, 'retryAfterMs');
  if (typeof exact === 'number' && exact >= 0) return exact;
  const places = [
    read(error, 'retryAfter'),
    header(read(error, 'headers'), 'retry-after'),
    header(read(response, 'headers'), 'retry-after'),
    read(error, 'retry-after'),
  ];
  return places.map((place) => readRetryAfter(place, nowMs)).find((ms) => ms !== undefined);
}

/** A `Retry-After`: seconds, or an HTTP date. */
function readRetryAfter(value: unknown, nowMs: number): number | undefined {
  if (value instanceof Date) return readRetryAfter(value.toUTCString(), nowMs);
  if (typeof value === 'number') return value >= 0 ? value * 1000 : undefined;
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  if (/^\d{1,9}(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const at = /[A-Za-z]{3}/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}

function header(headers: unknown, name: string): unknown {
  const get = read(headers, 'get');
  try {
    if (typeof get === 'function') return get.call(headers, name);
  } catch {
    return undefined;
  }
  if (!isObject(headers)) return undefined;
  const key = Object.keys(headers).find((candidate) => candidate.toLowerCase() === name);
  const value = key === undefined ? undefined : read(headers, key);
  return Array.isArray(value) ? value[0] : value;
}

/** A property of something foreign: a getter of it may throw. */
function read(from: unknown, key: string): unknown {
  if (!isObject(from)) return undefined;
  try {
    return (from as Record<string, unknown>)[key];
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
