/**
 * An error as its name and code: all that may be told of it. Its message can carry payloads and secrets.
 */
export function errorIdentity(error: unknown): string {
  if (error === null || typeof error !== 'object') return 'Error';
  const { name, code } = error as { name?: unknown; code?: unknown };
  const known = typeof name === 'string' && /^[A-Za-z][\w.]{0,63}$/.test(name) ? name : 'Error';
  const coded = typeof code === 'number' || (typeof code === 'string' && /^[A-Za-z0-9][\w.-]{0,63}$/.test(code));
  return coded ? `${known} (${code})` : known;
}
