/** A value as it may be shown in a refusal at definition: its type, and itself when it is short and plain. */
export function describe(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'string') return value.length <= 40 ? JSON.stringify(value) : `a string of ${value.length}`;
  if (typeof value === 'number' || typeof value === 'boolean' || value === undefined) return String(value);
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
