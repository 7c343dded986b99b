/**
 * Text that stands around the documents, or instead of them: warnings, echoed commands, refusals, tables.
 *
 * Invariant: it is recognised by its shape and named in our own words; not one character of it is passed on, but for a
 * namespace and an API reason that have the shape of one.
 */
import type { InputProblem } from '../inputs/input-fault.ts';

/** A refusal, as the API or kubectl gave it. */
export interface Refusal {
  /** `Forbidden`, `Unauthorized`, ...; `Error` when none was given. */
  readonly reason: string;
  readonly namespace?: string;
}

const SERVER_ERROR = /^\s*Error from server(?: \((\w{1,40})\))?:?/;
const CLIENT_ERROR = /^\s*(?:error: |Unable to connect to the server|The connection to the server .* was refused)/;

/** A line of kubectl's own that may stand between the lines of a YAML document; none of them is valid at its place. */
export function isOutsideLine(line: string): boolean {
  if (/^\s/.test(line)) return false;
  return (
    SERVER_ERROR.test(line) || CLIENT_ERROR.test(line) || /^(?:\$ |Warning: |[IWE]\d{4} \d\d:\d\d:\d\d)/.test(line)
  );
}

/** The refusal that a line reports, if it reports one. */
export function readRefusal(line: string): Refusal | undefined {
  const server = SERVER_ERROR.exec(line);
  if (server === null && !CLIENT_ERROR.test(line)) return undefined;
  const namespace = /in the namespace "([a-z0-9-]{1,63})"/.exec(line)?.[1];
  const reason = server === null ? 'NotReachable' : (server[1] ?? 'Error');
  return { reason, ...(namespace !== undefined && { namespace }) };
}

/** Whether a line between JSON documents is a piece of JSON: then brackets are lost, and no boundary can be trusted. */
export function isFragment(line: string): boolean {
  return /^\s*["}\]]/.test(line);
}

/** Whether a line between JSON documents begins a pod, or a list of them, in YAML. */
export function isYamlLine(line: string): boolean {
  return /^(?:apiVersion|items):(?:\s|$)/.test(line);
}

/** How an input is to be read, told by its first line that is neither blank nor noise; undefined: not told yet. */
export function sniffSyntax(text: string): 'json' | 'yaml' | undefined {
  for (const line of text.split('\n')) {
    if (/^\s*(?:\{|\[\s*(?:[[{\]]|$))/.test(line)) return 'json';
    if (/^\s*["}\]]/.test(line)) return 'json';
    if (
      /^(?:---(?:\s|$)|%YAML\s|- +(?:apiVersion|kind|metadata):|(?:apiVersion|kind|items|metadata|spec|status):(?:\s|$))/.test(
        line,
      )
    ) {
      return 'yaml';
    }
  }
  return undefined;
}

/** What an input without any document is, by its first characters. */
export function describeText(text: string): { problem: InputProblem; detail: string } {
  if (text.trim() === '') return { problem: 'empty', detail: 'there is nothing in it' };
  if (/^\s*No resources found/m.test(text)) {
    return { problem: 'no_resources', detail: 'it is no JSON or YAML but the words that no resources were found' };
  }
  if (/^\s*(?:NAMESPACE|NAME)\s+\S/m.test(text)) {
    return { problem: 'not_json', detail: 'it is the table that is printed for people; give the output of -o json' };
  }
  if (/^\s*Name:\s+\S/m.test(text)) {
    return { problem: 'not_json', detail: 'it is a description printed for people; give the output of -o json' };
  }
  if (/^\s*(?:pod\/\S+\s*)+$/.test(text)) {
    return { problem: 'not_json', detail: 'it holds names only; give the output of -o json' };
  }
  if (/^\s*<(?:!doctype|html|\?xml)/i.test(text)) {
    return { problem: 'not_json', detail: 'it is a page of HTML or XML, as a login or a proxy gives it' };
  }
  return { problem: 'not_json', detail: 'it is neither JSON nor YAML' };
}
