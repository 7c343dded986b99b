/**
 * The headers of a delivery, by name in any case.
 *
 * Invariant: a header that came twice has no value. Whoever picks one of two decides for the sender, and a proxy may have
 * picked the other.
 */

/**
 * Headers as Node gives them: a record, or the flat list of names and values (`rawHeaders`). Give the list where it can be
 * had: in a record Node has joined what came twice.
 */
export type HookHeaders = Readonly<Record<string, string | readonly string[] | undefined>> | readonly string[];

/** What one header holds. */
export type HeaderReading =
  | { readonly is: 'absent' }
  | { readonly is: 'twice' }
  | { readonly is: 'value'; readonly value: string };

/** Reads one header. `name` is in small letters. */
export function readHeader(headers: HookHeaders, name: string): HeaderReading {
  const values = [...headerPairs(headers)].filter(([given]) => given.toLowerCase() === name).map(([, value]) => value);
  if (values.length > 1) return { is: 'twice' };
  const value = values[0]?.trim();
  return value === undefined || value === '' ? { is: 'absent' } : { is: 'value', value };
}

/** The value of a header that is not needed for trust: undefined when absent or doubled. */
export function headerValue(headers: HookHeaders, name: string): string | undefined {
  const reading = readHeader(headers, name);
  return reading.is === 'value' ? reading.value : undefined;
}

/** Every name and value, as they came. */
export function* headerPairs(headers: HookHeaders): Generator<readonly [name: string, value: string]> {
  if (isFlatList(headers)) {
    for (let at = 0; at + 1 < headers.length; at += 2) yield [headers[at]!, headers[at + 1]!];
    return;
  }
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string') yield [name, value];
    else for (const item of value ?? []) yield [name, item];
  }
}

function isFlatList(headers: HookHeaders): headers is readonly string[] {
  return Array.isArray(headers);
}
