/** The verdict words: how each stands, and what it means. */
import type { Standing } from '@muster/envelope';

const WORDS = {
  broken_packages: ['problem', 'packages are half installed, or need to be installed again'],
  security_updates: ['problem', 'security updates are waiting'],
  end_of_life: ['problem', 'the distribution gets no security updates any more'],
  reboot_required: ['problem', 'something that was updated takes effect after a reboot'],
  updates: ['problem', 'updates are waiting'],
  kept_back: ['problem', 'updates are kept back, and no phasing explains it'],
  restart_services: ['problem', 'services run what was replaced'],
  up_to_date: ['ok', 'no update is waiting that could be installed'],
  no_restart_needed: ['ok', 'the newest kernel and libraries run; nothing was told about updates'],
  declined: ['declined', 'no classification: the signal cannot be read, or is too old'],
} as const satisfies Record<string, readonly [Standing, string]>;

export type Verdict = keyof typeof WORDS;

export const VERDICTS = Object.keys(WORDS) as readonly Verdict[];

/** Each word's standing. */
export const STANDINGS = Object.fromEntries(VERDICTS.map((word) => [word, WORDS[word][0]])) as Record<
  Verdict,
  Standing
>;

/** What a word means whichever rule gave it. */
export function meaningOf(word: Verdict): string {
  return WORDS[word][1];
}
