/** The verdict words of a runbook, with how each stands and what it means whichever rule gave it. */
import type { Standing } from '@muster/envelope';

export interface VerdictWords<Word extends string> {
  readonly words: readonly Word[];
  readonly standings: Readonly<Record<Word, Standing>>;
  readonly meanings: Readonly<Record<Word, string>>;
}

/** Makes a runbook's words of one table. */
export function verdictWords<Word extends string>(
  table: Readonly<Record<Word, readonly [standing: Standing, meaning: string]>>,
): VerdictWords<Word> {
  const words = Object.keys(table) as Word[];
  const part = <Part>(of: (word: Word) => Part) =>
    Object.fromEntries(words.map((word) => [word, of(word)])) as Record<Word, Part>;
  return { words, standings: part((word) => table[word][0]), meanings: part((word) => table[word][1]) };
}
