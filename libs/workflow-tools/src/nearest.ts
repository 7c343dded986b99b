import { closest, distance } from 'fastest-levenshtein';

const COMPARED_LENGTH = 64;

/** The candidate that is spelled most alike, where one is alike at all. */
export function nearestOf(word: string, candidates: readonly string[]): string | undefined {
  if (candidates.length === 0) return undefined;
  const shown = word.slice(0, COMPARED_LENGTH);
  const best = closest(shown, candidates);
  return distance(shown, best) <= Math.max(2, Math.ceil(shown.length / 2)) ? best : undefined;
}
