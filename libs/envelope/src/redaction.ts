/**
 * Redaction where the substrate leaves gaps: it matches top-level keys only, so a fan-out's collected results, nested
 * values, rule thresholds and the columns of a row would show what the policy hides (FACTS). One policy means the same
 * everywhere here: a key it names is hidden at any depth.
 */
import type { RedactionPolicy } from 'footprintjs';
import { defineKey } from './clean-text.ts';
import { isPlainObject } from './plain-object.ts';

/** What stands where a redacted value would. */
export const REDACTED = 'REDACTED';

/** What lies deeper than this is not looked through, so it is hidden whole; a cycle would never end. */
const MAX_DEPTH = 64;

/** Whether a policy redacts a state key. Asked for rule conditions too, where a threshold would stay readable. */
export function isRedactedKey(policy: RedactionPolicy | undefined, key: string): boolean {
  if (policy === undefined) return false;
  return hidesWhole(policy, key) || (policy.fields !== undefined && Object.hasOwn(policy.fields, key));
}

/** A copy of a value in which every key that the policy names is hidden. Without a policy: the value itself. */
export function redactValue<T>(value: T, policy: RedactionPolicy | undefined): T {
  return policy === undefined ? value : (redact(value, policy, undefined, 0) as T);
}

/** What a snapshot tells of marks: the commits of the chart, and those of its subflows and branches. */
interface MarkedSnapshot {
  readonly commitLog: readonly Commit[];
  readonly subflowResults?: Readonly<Record<string, unknown>>;
}
interface Commit {
  readonly redactedPaths: readonly string[];
}

/**
 * The policy with the keys that stages marked as sensitive when they wrote them. The substrate hides those in its redacted
 * view only where a policy is set, and neither below the top level nor where a branch's state was collected (FACTS).
 */
export function policyWithMarks(policy: RedactionPolicy | undefined, snapshot: MarkedSnapshot) {
  const marked: string[] = [];
  const read = (commits: readonly Commit[]) => {
    for (const { redactedPaths } of commits) if (redactedPaths.length > 0) marked.push(...redactedPaths);
  };
  read(snapshot.commitLog);
  for (const subflow of Object.values(snapshot.subflowResults ?? {})) {
    read((subflow as { treeContext?: { history?: readonly Commit[] } }).treeContext?.history ?? []);
  }
  return marked.length === 0 ? policy : { ...policy, keys: [...new Set([...(policy?.keys ?? []), ...marked])] };
}

function redact(
  value: unknown,
  policy: RedactionPolicy,
  fields: readonly string[] | undefined,
  depth: number,
): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (depth >= MAX_DEPTH) return REDACTED;
  if (Array.isArray(value)) return value.map((item) => redact(item, policy, fields, depth + 1));
  if (!isPlainObject(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    const hidden = item !== undefined && (hidesWhole(policy, key) || fields?.includes(key) === true);
    defineKey(copy, key, hidden ? REDACTED : redact(item, policy, fieldsBelow(policy, key, fields), depth + 1));
  }
  return copy;
}

/** The field names that are hidden below a key: its own declaration, and what its parents declared (`address.zip`). */
function fieldsBelow(policy: RedactionPolicy, key: string, fields: readonly string[] | undefined) {
  const own = policy.fields !== undefined && Object.hasOwn(policy.fields, key) ? policy.fields[key] : undefined;
  if (fields === undefined) return own;
  const below = fields.map((field) => (field.startsWith(`${key}.`) ? field.slice(key.length + 1) : field));
  return own === undefined ? below : [...own, ...below];
}

function hidesWhole(policy: RedactionPolicy, key: string): boolean {
  if (policy.keys?.includes(key)) return true;
  return (
    policy.patterns?.some((pattern) => new RegExp(pattern.source, pattern.flags.replace('g', '')).test(key)) ?? false
  );
}
