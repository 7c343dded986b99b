/** The verdict words: how each stands, and what it means. */
import { verdictWords } from '../judging/verdict-words.ts';

export const WORDS = verdictWords({
  missing: ['problem', 'it was expected, and no input tells of it'],
  no_output: ['problem', 'the tool printed nothing: it was interrupted, or there is nothing'],
  damaged: ['problem', 'its newest backup, or its repository, has errors'],
  stuck: ['problem', 'its newest backup does not come to an end'],
  failed: ['problem', 'its newest backup failed, and there is no usable one'],
  partial: ['problem', 'its newest backup is incomplete, and there is no usable one'],
  no_backup: ['problem', 'there is no backup of it'],
  stale: ['problem', 'its newest usable backup is too old'],
  fresh: ['ok', 'its newest usable backup is young enough'],
  check_clean: ['ok', 'a check of its repository found no problem'],
  declined: ['declined', 'no classification: the list, or its times, cannot be read'],
});

export type Verdict = (typeof WORDS.words)[number];
