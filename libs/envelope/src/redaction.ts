import type { RedactionPolicy } from 'footprintjs';

/** What stands where a redacted value would. */
export const REDACTED = 'REDACTED';

/**
 * Whether a policy redacts a top-level state key. The substrate decides the same for values that exist; this is asked
 * for rule conditions too, where it leaves the threshold readable and misses keys that were never set (FACTS).
 */
export function isRedactedKey(policy: RedactionPolicy | undefined, key: string): boolean {
  if (policy === undefined) return false;
  if (policy.keys?.includes(key)) return true;
  if (policy.fields !== undefined && Object.hasOwn(policy.fields, key)) return true;
  return (
    policy.patterns?.some((pattern) => new RegExp(pattern.source, pattern.flags.replace('g', '')).test(key)) ?? false
  );
}
