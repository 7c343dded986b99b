/** The verdict words: how each stands, and what it means. */
import { verdictWords } from '../judging/verdict-words.ts';

export const WORDS = verdictWords({
  failing: ['problem', 'the disk says that it fails, or smartctl does'],
  read_only: ['problem', 'the disk takes no writes any more'],
  degraded: ['problem', 'its reliability is degraded by errors'],
  backup_failed: ['problem', 'the backup of its volatile memory has failed'],
  not_responding: ['problem', 'it is there and does not answer'],
  prefail: ['problem', 'an attribute that foretells failure is below its threshold'],
  pending_sectors: ['problem', 'sectors could not be read and wait to be reallocated'],
  uncorrectable_sectors: ['problem', 'sectors could not be corrected'],
  media_errors: ['problem', 'data was lost or could not be corrected'],
  grown_defects: ['problem', 'many defects have grown since it was made'],
  reallocated_sectors: ['problem', 'many sectors were reallocated'],
  spare_low: ['problem', 'its spare capacity is below the threshold'],
  worn: ['problem', 'its rated endurance is used up'],
  hot: ['problem', 'it is hotter than it may be'],
  self_test_failed: ['problem', 'its newest self-test failed, or the log of its self-tests has errors'],
  healthy: ['ok', 'it says that it is well, and nothing speaks against it'],
  declined: ['declined', 'no classification: the signal is not there or cannot be read'],
});

export type Verdict = (typeof WORDS.words)[number];
