/** Parses one cut part, strictly, and says in our own words why it could not be. */
import { parseDocument } from 'yaml';
import type { InputProblem } from './input-fault.ts';

export type ParsedPart =
  /** `lossy`: it held bytes that are not UTF-8, each replaced by U+FFFD. */
  | { readonly ok: true; readonly value: unknown; readonly lossy?: true }
  | { readonly ok: false; readonly problem: InputProblem; readonly detail: string };

/**
 * YAML is parsed into a tree of many small objects: its memory is hundreds of times its size, and its time is seconds a
 * megabyte. A pod has some ten kilobytes.
 */
const MAX_YAML_BYTES = 1024 * 1024;

/** An anchor may be repeated this often; more is how a small file becomes a huge value. */
const MAX_ALIASES = 100;

/** Parses a part's bytes. `undefined` stands for a part that was over the limit. Never throws. */
export function parsePart(bytes: Uint8Array | undefined, syntax: 'json' | 'yaml'): ParsedPart {
  if (bytes === undefined) return refuse('too_large', 'it is larger than any pod can be');
  try {
    return parseText(new TextDecoder('utf-8', { fatal: true }).decode(bytes), syntax);
  } catch {
    const parsed = parseText(new TextDecoder().decode(bytes), syntax);
    return parsed.ok ? { ...parsed, lossy: true } : refuse('encoding', 'it holds bytes that are not UTF-8');
  }
}

function parseText(text: string, syntax: 'json' | 'yaml'): ParsedPart {
  if (syntax === 'json' || /^\s*[[{]/.test(text)) return parseJson(text);
  if (text.length > MAX_YAML_BYTES) return refuse('too_large', 'it is YAML of more than 1 MiB in one piece; give JSON');
  return parseYaml(text);
}

function parseJson(text: string): ParsedPart {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    return refuse('not_json', 'it is not valid JSON');
  }
}

function parseYaml(text: string): ParsedPart {
  try {
    const document = parseDocument(text, { schema: 'core', logLevel: 'silent', prettyErrors: false, uniqueKeys: true });
    if (document.errors.length > 0) return refuse('not_yaml', 'it is not valid YAML');
    return { ok: true, value: document.toJS({ maxAliasCount: MAX_ALIASES }) };
  } catch {
    // Deep nesting and alias bombs end here; what the parser says could quote the input.
    return refuse('not_yaml', 'it is not valid YAML');
  }
}

function refuse(problem: InputProblem, detail: string): ParsedPart {
  return { ok: false, problem, detail };
}
