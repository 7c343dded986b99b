/** The verdict words: how each stands, and what it means. */
import { verdictWords } from '../judging/verdict-words.ts';

export const WORDS = verdictWords({
  expired: ['problem', 'its time is over'],
  not_yet_valid: ['problem', 'its time has not begun'],
  chain_expired: ['problem', 'the time of a certificate that it is served with is over, or has not begun'],
  chain_broken: ['problem', 'it is served with certificates that did not issue it'],
  expires_soon: ['problem', 'it should have been renewed by now'],
  chain_expires_soon: ['problem', 'a certificate that it is served with should have been renewed by now'],
  valid: ['ok', 'it is in its time, and so is what it is served with'],
  declined: ['declined', 'no classification: it, or its dates, cannot be read'],
});

export type Verdict = (typeof WORDS.words)[number];
