/** The verdict words: how each stands, and what it means. */
import { verdictWords } from '../judging/verdict-words.ts';

export const WORDS = verdictWords({
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
});

export type Verdict = (typeof WORDS.words)[number];
