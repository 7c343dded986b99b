/**
 * A snapshot as it may be filed: the policy reaches the values that the substrate's own redaction does not (nested ones,
 * a fan-out's collected results), and no error text is left, because it can carry values (contract).
 */
import type { CombinedNarrativeEntry, RedactionPolicy } from 'footprintjs';
import { cleanText } from './clean-text.ts';
import { isPlainObject } from './plain-object.ts';
import { redactValue } from './redaction.ts';

/** The places of a snapshot where state values lie. */
const VALUE_BAGS = new Set([
  'sharedState',
  'globalContext',
  'stageWrites',
  'stageReads',
  'overwrite',
  'updates',
  'logs',
  'metrics',
  'evals',
]);

/** A copy of a snapshot that may be filed. */
export function recordingView(snapshot: unknown, policy: RedactionPolicy | undefined): unknown {
  if (Array.isArray(snapshot)) return snapshot.map((item) => recordingView(item, policy));
  if (!isPlainObject(snapshot)) return snapshot;
  const copy: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(snapshot)) {
    if (VALUE_BAGS.has(key)) copy[key] = redactValue(value, policy);
    else if (key === 'errors' && isPlainObject(value)) copy[key] = withoutText(value);
    else copy[key] = recordingView(value, policy);
  }
  return copy;
}

/**
 * The narrative as an attached recorder leaves it in a snapshot: viewers look for its id there. Its sentences are those of
 * the walk; the live values that entries carry are left out.
 */
export function narrativeView(entries: readonly CombinedNarrativeEntry[]): unknown {
  return {
    id: 'combined-narrative',
    name: 'Narrative',
    description: 'The sentences of the walk, values off',
    preferredOperation: 'translate',
    data: entries.map(({ rawValue: _live, ...entry }) => ({ ...entry, text: cleanText(entry.text) })),
  };
}

function withoutText(errors: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.keys(errors).map((name) => [name, 'the stage failed']));
}
