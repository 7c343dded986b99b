/**
 * What a definition's digest is taken over (DESIGN 7): name, version, chart structure, rules with thresholds and labels,
 * and the code of the declaration. The substrate's own structure hash misses thresholds and labels (FACTS).
 */
import { z } from 'zod';
import type { Runbook } from './define-runbook.ts';

/**
 * The canonical text of a runbook's definition. Equal texts judge equally, as far as a declaration can tell; `buildId`
 * stands for the code that it calls.
 */
export function definitionText(runbook: Runbook, buildId: string): string {
  // Who may answer, and for how long, is no part of how things are judged.
  const { input, resume, answers, asTool, limits, charts, ...declared } = runbook;
  const structures = Object.fromEntries(
    Object.entries(charts).map(([name, chart]) => [name, chart.buildTimeStructure]),
  );
  const schemas = { input: z.toJSONSchema(input), ...(resume !== undefined && { resume: z.toJSONSchema(resume) }) };
  return canonicalJson({ ...declared, structures, ...schemas, buildId });
}

/**
 * The canonical text of what a runbook judges by: its rules, as far as it declares them, and how its verdict words stand.
 * Unlike a definition's text it has nothing of the code, so it is the same over builds that judge the same.
 */
export function rulesText({ rules, verdicts }: Runbook): string {
  return canonicalJson({ rules, standings: verdicts.standings });
}

/** JSON with sorted keys. Functions and patterns are their source; what is undefined is left out. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(canonical(value));
}

function canonical(value: unknown): unknown {
  if (typeof value === 'function') return { source: value.toString() };
  if (value instanceof RegExp) return { pattern: value.toString() };
  if (typeof value === 'bigint') return value.toString();
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(canonical);
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, item]) => [key, canonical(item)]));
}
